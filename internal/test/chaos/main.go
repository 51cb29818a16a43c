//go:build linux

// Command chaos kills, stops and starves the queue, checks its promises, and prints a table. Each lane is one sort of
// chaos in its own file. A run can be repeated by its seed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lanes are all lanes. A new one is a file with its function and a line here.
func lanes() []lane {
	return []lane{laneKill(), laneZombie(), laneFaults(), lanePower(), laneDisk(), laneForeign(), laneNetwork(), laneClocks(), lanePoison(), laneUpgrade(), laneStop(), laneKillMany(), laneFirstUse(), laneSchedules(), laneEncryption(), laneVersions(), laneLimits(), laneRate()}
}

// roleVariable holds the role, as JSON, of a process that a lane started.
const roleVariable = "SQLUICE_CHAOS_ROLE"

func main() {
	if text, ok := os.LookupEnv(roleVariable); ok {
		os.Exit(playRole(text))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// playRole runs a process that a lane started.
func playRole(text string) int {
	var r role
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		err = r.play()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}

// choice holds the flags.
type choice struct {
	lanes  []lane
	engine string
	seed   uint64
	long   bool
	scale  float64
	lasts  time.Duration // as many rounds as fit, at least one
}

// run returns the exit code: 1 when a promise was broken, 2 when a lane could not be run.
func run(args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return 2
	}
	began := time.Now()
	rows := c.round(stdout, stderr)
	rounds := 1
	for ; time.Since(began) < c.lasts; rounds++ {
		c.seed++
		for i, r := range c.round(stdout, stderr) {
			rows[i].add(r)
		}
	}
	if rounds > 1 {
		fmt.Fprintf(stdout, "%d rounds, %s\n", rounds, time.Since(began).Round(time.Second))
	}
	printTable(stdout, rows)
	code := 0
	for _, r := range rows {
		r.printWrong(stderr) // once more, at the end of a long log
		code = max(code, r.code())
	}
	return code
}

// round runs each lane once on each engine.
func (c choice) round(stdout, stderr io.Writer) []row {
	var rows []row
	fmt.Fprintf(stdout, "seed %d\n", c.seed)
	for _, l := range c.lanes {
		for _, engine := range l.engines {
			if c.engine == "" || c.engine == engine {
				rows = append(rows, c.try(l, engine, stderr))
			}
		}
	}
	return rows
}

func parse(args []string, stderr io.Writer) (choice, error) {
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(stderr)
	numbers := flags.String("lane", "", "the lanes to run, by number and with commas between; all when empty")
	engine := flags.String("engine", "", "the engine to run on, sqlite or postgres; both when empty")
	seed := flags.Uint64("seed", 0, "what to repeat: a seed that was printed; a new one when 0")
	long := flags.Bool("long", false, "hours instead of minutes")
	scale := flags.Float64("scale", 1, "how much of the jobs and faults of a lane with processes")
	lasts := flags.Duration("for", 0, "how long to go on with another seed, the next one, after the lanes have been run")
	if err := flags.Parse(args); err != nil {
		return choice{}, err
	}
	if flags.NArg() > 0 {
		return choice{}, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if *engine != "" && *engine != onSQLite && *engine != onPostgres {
		return choice{}, fmt.Errorf("there is no engine %q", *engine)
	}
	c := choice{engine: *engine, seed: *seed, long: *long, scale: *scale, lasts: *lasts}
	for c.seed == 0 {
		c.seed = rand.Uint64()
	}
	all := lanes()
	if *numbers == "" {
		c.lanes = all
		return c, nil
	}
	for text := range strings.SplitSeq(*numbers, ",") {
		n, err := strconv.Atoi(text)
		i := slices.IndexFunc(all, func(l lane) bool { return l.number == n })
		if err != nil || i < 0 {
			return choice{}, fmt.Errorf("there is no lane %q", text)
		}
		c.lanes = append(c.lanes, all[i])
	}
	return c, nil
}

// try runs a lane on an engine in a separate folder.
func (c choice) try(l lane, engine string, stderr io.Writer) row {
	fmt.Fprintf(stderr, "== lane %d, %s, on %s\n", l.number, l.name, engine)
	began := time.Now()
	dir, err := os.MkdirTemp("", "sqluice-chaos-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	t := &trial{
		engine: engine, long: c.long, scale: c.scale, dir: dir, log: stderr,
		random: rand.New(rand.NewPCG(c.seed, uint64(l.number))),
	}
	if err == nil {
		err = errors.Join(l.run(context.Background(), t), os.RemoveAll(dir))
	}
	if errors.Is(err, errNotHere) {
		return row{lane: l, trial: t, skipped: err}
	}
	r := row{lane: l, trial: t, err: err, took: time.Since(began)}
	r.printWrong(stderr)
	return r
}
