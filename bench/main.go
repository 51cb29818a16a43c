// Command bench measures sqluice beside hand-written loops on the bare driver, in one run: `make bench`. With -peers
// other queues join: `make bench-peers`.
//
// Machines are noisy, so systems take turns, each figure is the median of the rounds, and the ratio is what to compare.
// Every run starts from a new database and prints one line of JSON; the table comes at the end. PostgreSQL's databases
// are in a temporary cluster with its default durability, or on the server that SQLUICE_BENCH_POSTGRES names.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"syscall"
	"time"
)

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the runner's messages would cost time and hide the figures
	if len(os.Args) > 2 && os.Args[1] == childArg {
		exitOn(runChild(os.Args[2]))
		return
	}
	s, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	exitOn(err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exitOn(run(ctx, s))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings holds the flags of the command line.
type settings struct {
	jobs, rounds, concurrency, backlog int

	idle, soak, limit time.Duration

	titles, systems *regexp.Regexp // match workloads with their engine, and systems
	narrowed        bool           // titles came from the command line
	all, peers      bool
	profile, out    string
}

const (
	idleShort = 5 * time.Second
	idleLong  = 30 * time.Second

	manyRounds = 3

	fewJobs  = 50_000
	manyJobs = 100_000
)

func parse(arguments []string) (settings, error) {
	var s settings
	var titles, systems string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&s.jobs, "n", 0, fmt.Sprintf(
		"jobs of a drain or a bulk insert; slower workloads take a part of them. 0: %d, with -all or -run %d", fewJobs, manyJobs))
	flags.IntVar(&s.rounds, "rounds", 0, fmt.Sprintf(
		"rounds; the table shows medians. 0: %d, and without -all 1 of the workloads that take long in each", manyRounds))
	flags.IntVar(&s.concurrency, "concurrency", 200, "jobs that a worker runs at once, and that a hand-written loop claims at once")
	flags.IntVar(&s.backlog, "backlog", 1_000_000, "finished rows, and scheduled rows, of the workloads beside a backlog")
	flags.StringVar(&titles, "run", "", "only the workloads that match this regular expression as \"SQLite drain\" does, also the long ones")
	flags.StringVar(&systems, "system", "", "only the systems that match this regular expression as \"sqluice\" does")
	flags.BoolVar(&s.all, "all", false, "also the long workloads: 12 processes, handlers of 1 s, a backlog of a million rows, a soak, and more")
	flags.BoolVar(&s.peers, "peers", false, "also other queues")
	flags.DurationVar(&s.idle, "idle", 0, fmt.Sprintf("how long a worker idles; 0: %s, and with -all %s", idleShort, idleLong))
	flags.DurationVar(&s.soak, "soak", 10*time.Minute, "how long a soak lasts")
	flags.DurationVar(&s.limit, "limit", 3*time.Minute, "how long a run may take, a soak apart and more beside a backlog; then it is ended and reported as an error")
	flags.StringVar(&s.out, "out", "", "write the lines of JSON to this file as well, and nothing else")
	flags.StringVar(&s.profile, "cpuprofile", "", "write the CPU profiles of the worker processes to files whose names begin so")
	if err := flags.Parse(arguments); err != nil {
		return s, err
	}
	var faults []error
	if flags.NArg() > 0 {
		faults = append(faults, fmt.Errorf("%q is not expected: the program takes only flags", flags.Arg(0)))
	}
	s.narrowed = titles != ""
	switch {
	case s.jobs != 0:
	case s.all || s.narrowed:
		s.jobs = manyJobs
	default:
		s.jobs = fewJobs
	}
	if s.jobs < 1 || s.rounds < 0 || s.concurrency < 1 || s.backlog < 1 {
		faults = append(faults, errors.New("-n, -concurrency and -backlog must be at least 1, and -rounds at least 0"))
	}
	if s.idle == 0 && s.all {
		s.idle = idleLong
	} else if s.idle == 0 {
		s.idle = idleShort
	}
	var err error
	s.titles, err = regexp.Compile(titles)
	faults = append(faults, err)
	s.systems, err = regexp.Compile(systems)
	return s, errors.Join(append(faults, err)...)
}

// roundsOf returns the number of rounds of a workload.
func (s settings) roundsOf(w workload) int {
	switch {
	case w.once:
		return 1
	case s.rounds > 0:
		return s.rounds
	case w.brief && !s.all:
		return 1
	}
	return manyRounds
}

// profiled runs fn under the CPU profiler when a file is named.
func profiled(file string, fn func() error) error {
	if file == "" {
		return fn()
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return errors.Join(err, out.Close())
	}
	err = fn()
	pprof.StopCPUProfile()
	return errors.Join(err, out.Close())
}
