// Command bench measures sqluice beside hand-written loops on the bare driver, in one run: `make bench`.
//
// Machines are noisy, so systems take turns, each figure is the median of the rounds, and what counts is the ratio.
// Every run starts from a new database and prints one line of JSON; the table comes at the end. PostgreSQL's are made
// in a temporary cluster with its default durability, or on the server that SQLUICE_BENCH_POSTGRES names.
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
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the runner's messages would cost time and hide the figures
	if len(os.Args) > 2 && os.Args[1] == childArg {
		exitOn(runChild(os.Args[2]))
		return
	}
	var s settings
	var only, systems string
	flag.IntVar(&s.jobs, "n", 100_000, "jobs of a drain or a bulk insert; half as many when processes share a drain")
	flag.IntVar(&s.rounds, "rounds", 3, "rounds; the table shows medians")
	flag.IntVar(&s.concurrency, "concurrency", 200, "jobs that a runner runs at once, and that the raw loop claims at once")
	flag.IntVar(&s.backlog, "backlog", 1_000_000, "finished rows, and scheduled rows, beside the workloads that have them")
	flag.StringVar(&only, "run", "", "only the workloads whose line, such as \"PostgreSQL drain\", matches this regular expression")
	flag.StringVar(&systems, "system", "", "only the systems that match this regular expression")
	flag.StringVar(&s.profile, "cpuprofile", "", "write a CPU profile to this file, and those of worker processes beside it")
	flag.Parse()
	chosen, err := choose(only, systems)
	exitOn(err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exitOn(profiled(s.profile, func() error { return run(ctx, s, chosen) }))
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
	profile                            string
}

// choose finds the workloads, and of them the systems, that match regular expressions.
func choose(title, system string) ([]workload, error) {
	titles, err := regexp.Compile(title)
	if err != nil {
		return nil, err
	}
	systems, err := regexp.Compile(system)
	if err != nil {
		return nil, err
	}
	var chosen []workload
	for _, w := range workloads {
		if !titles.MatchString(w.title()) {
			continue
		}
		all := w.systems
		w.systems = nil
		for _, s := range all {
			if systems.MatchString(s.name) {
				w.systems = append(w.systems, s)
			}
		}
		if len(w.systems) > 0 {
			chosen = append(chosen, w)
		}
	}
	return chosen, nil
}

func run(ctx context.Context, s settings, chosen []workload) (err error) {
	fmt.Printf("# %s %s/%s, %d CPUs, %d rounds, %d jobs, concurrency %d\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), s.rounds, s.jobs, s.concurrency)
	engines, err := startEngines(ctx, chosen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engines.stop()) }()
	out := json.NewEncoder(os.Stdout)
	var all []result
	for _, w := range chosen {
		engine := engines[w.engine]
		if engine == nil {
			continue // left out, which was said
		}
		for round := range s.rounds {
			for _, system := range w.systems {
				results, err := measure(ctx, s, engine, w.title(), system)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", w.title(), system.name, err)
				}
				for _, r := range results {
					r.Round = round + 1
					all = append(all, r)
					if err := out.Encode(r); err != nil {
						return err
					}
				}
			}
		}
	}
	return table(os.Stdout, all)
}
