//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sqluice/sqluice/jobs"
)

// The roles of workers that get poison.
const (
	doPrison  = "prison"
	doMisfits = "misfits"
)

// The queues of those workers, beside which misfits serve the default queue as well.
const (
	prison  = "prison"
	misfits = "misfits"
)

// exitOfPoison is the exit code of a process that its job ends.
const exitOfPoison = 3

// Kinds that kill their process.
const (
	killExit      = "exit"
	killMemory    = "memory"
	killGoroutine = "goroutine"
)

// Kinds that do not.
const (
	badGoexit = "goexit"
	badPanic  = "panic"
	badDeaf   = "deaf" // to the end of its context
)

// beside is the kind of jobs that run beside those that kill their process.
const beside = "beside"

func (p *player) workInPrison(ctx context.Context) error {
	ctx, _, stop := untilReleased(ctx)
	defer stop()
	runner, err := p.poisonRunner(map[string]int{prison: p.Slots})
	if err != nil {
		return err
	}
	handlePoison(runner, killExit, func() { os.Exit(exitOfPoison) })
	handlePoison(runner, killGoroutine, func() {
		go func() { panic("poison in a goroutine") }()
		select {}
	})
	handlePoison(runner, killMemory, func() {
		// The runtime dies in several ways, not all of which name the reason.
		fmt.Fprintln(os.Stderr, "poison: going to be out of memory")
		fmt.Fprintln(os.Stderr, "poison:", exhaustMemory())
		os.Exit(4)
	})
	jobs.Kind[label]{Name: beside, RetryDelay: at0}.Handle(runner, func(ctx context.Context, job jobs.Job, args label) error {
		timer := time.NewTimer(time.Duration(p.number(int(p.Longest))))
		defer timer.Stop()
		select {
		case <-timer.C:
			return job.SetResult(args.Key)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return runner.Run(ctx)
}

func (p *player) workWithMisfits(ctx context.Context) error {
	ctx, released, stop := untilReleased(ctx)
	defer stop()
	runner, err := p.poisonRunner(map[string]int{jobs.DefaultQueue: p.Slots, misfits: 2 * misfitsOfAKind})
	if err != nil {
		return err
	}
	handlePoison(runner, badGoexit, runtime.Goexit)
	handlePoison(runner, badPanic, func() { panic("poison") })
	jobs.Kind[label]{Name: badDeaf, Timeout: 100 * time.Millisecond, RetryDelay: at0}.Handle(runner,
		func(context.Context, jobs.Job, label) error {
			<-released
			return nil
		})
	jobs.Kind[label]{Name: kind, RetryDelay: at0}.Handle(runner,
		func(ctx context.Context, job jobs.Job, args label) error { return p.handle(ctx, job, args, released) })
	// A deaf handler may be returning when the runner ends.
	if err := runner.Run(ctx); err != nil && !strings.Contains(err.Error(), "handlers did not return") {
		return err
	}
	return nil
}

// poisonRunner has the default maximum of crashes.
func (p *player) poisonRunner(queues map[string]int) (*jobs.Runner, error) {
	return jobs.NewRunner(p.client, jobs.Config{
		Name: p.Name, Queues: queues, Lease: p.Lease, Grace: p.Grace, StuckAfter: 200 * time.Millisecond,
		Logger: slog.New(&refusals{Handler: slog.NewTextHandler(os.Stderr, nil), notes: p.notes}),
	})
}

func at0(jobs.Job, error) time.Duration { return 0 }

func handlePoison(runner *jobs.Runner, name string, poison func()) {
	jobs.Kind[label]{Name: name, RetryDelay: at0}.Handle(runner, func(context.Context, jobs.Job, label) error {
		poison()
		return errors.New("the poison had no effect")
	})
}

// exhaustMemory leaves the process little address space and uses that up, which ends it. It returns only when it
// cannot.
func exhaustMemory() error {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Fscan(strings.NewReader(string(text)), &pages); err != nil {
		return err
	}
	var limits unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limits); err != nil {
		return err
	}
	limits.Cur = min(limits.Cur, pages*uint64(os.Getpagesize())+64<<20)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &limits); err != nil {
		return err
	}
	var all [][]byte
	for range 1 << 14 {
		all = append(all, make([]byte, 1<<20))
	}
	return fmt.Errorf("%d MiB could be allocated with a limit of %d bytes", len(all), limits.Cur)
}
