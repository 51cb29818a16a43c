// Command bench measures sqluice beside hand-written loops on the bare driver, in one run: `make bench`.
//
// Machines are noisy, so systems take turns, each figure is the median of the rounds, and what counts is the ratio.
// Every run starts from a new database in a temporary folder and prints one line of JSON; the table comes at the end.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/pprof"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == idleArg {
		exitOn(idleWorker(os.Args[2]))
		return
	}
	var s settings
	var only, profile string
	flag.IntVar(&s.jobs, "n", 100_000, "jobs of a drain or a bulk insert")
	flag.IntVar(&s.rounds, "rounds", 3, "rounds; the table shows medians")
	flag.IntVar(&s.concurrency, "concurrency", 200, "jobs that a runner runs at once, and that the raw loop claims at once")
	flag.IntVar(&s.backlog, "backlog", 1_000_000, "done rows, and scheduled rows, beside the drain of the backlog workload")
	flag.StringVar(&only, "run", "", "only the workloads that match this regular expression")
	flag.StringVar(&profile, "cpuprofile", "", "write a CPU profile to this file")
	flag.Parse()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the runner's messages would cost time and hide the figures
	pattern, err := regexp.Compile(only)
	exitOn(err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exitOn(profiled(profile, func() error { return run(ctx, s, pattern) }))
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

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type settings struct {
	jobs, rounds, concurrency, backlog int
}

func run(ctx context.Context, s settings, only *regexp.Regexp) error {
	fmt.Printf("# %s %s/%s, %d CPUs, %d rounds, %d jobs, concurrency %d\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), s.rounds, s.jobs, s.concurrency)
	out := json.NewEncoder(os.Stdout)
	var all []result
	for _, w := range workloads {
		if !only.MatchString(w.name) {
			continue
		}
		for round := range s.rounds {
			for _, system := range w.systems {
				r, err := measure(ctx, s, w.name, system)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", w.name, system.name, err)
				}
				r.Round = round + 1
				all = append(all, r)
				if err := out.Encode(r); err != nil {
					return err
				}
			}
		}
	}
	table(os.Stdout, all)
	return nil
}
