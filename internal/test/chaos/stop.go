//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/jobs/inspect"
)

// laneStop ends workers by SIGTERM under full load, again and again. Each ends cleanly and releases jobs that it cannot
// end, and no attempt is charged to any job.
func laneStop() lane {
	return lane{number: 11, name: "SIGTERM", engines: []string{onSQLite, onPostgres}, run: func(ctx context.Context, t *trial) error {
		return onQueue(ctx, t, func(f *fleet) error { return f.terminating(ctx) })
	}}
}

// The fleet of the lane. Some handlers last longer than the grace.
const (
	stopWorkers = 4
	stopLongest = 300 * time.Millisecond
	stopGrace   = 150 * time.Millisecond
)

func (f *fleet) terminating(ctx context.Context) error {
	times := f.trial.scaled(100)
	enqueuer, err := f.start(role{Do: "enqueue", Name: "enqueuer"})
	if err != nil {
		return err
	}
	begin := func() (*process, error) {
		return f.start(role{
			Do: "work", Name: fmt.Sprint("worker ", len(f.all)), Lease: 30 * time.Second, Grace: stopGrace, Slots: 20, Longest: stopLongest,
		})
	}
	var workers []*process
	for range stopWorkers {
		p, err := begin()
		if err != nil {
			return err
		}
		workers = append(workers, p)
	}
	for i := range times {
		victim, err := f.busy(ctx, workers, func() error {
			_, err := fmt.Fprintln(enqueuer.stdin, 60)
			return err
		})
		if err != nil {
			return fmt.Errorf("stop %d: %w", i, err)
		}
		time.Sleep(time.Duration(f.trial.random.IntN(int(50 * time.Millisecond)))) // the time of the fault
		if err := victim.signal(syscall.SIGTERM); err != nil {
			return err
		}
		next, err := begin()
		if err != nil {
			return err
		}
		workers = append(slices.DeleteFunc(workers, func(p *process) bool { return p == victim }), next)
		if err := victim.end(); err != nil {
			f.trial.find(tally{other: []string{fmt.Sprintf("a worker does not end well: %v", err)}})
		}
		if err := f.leftNothing(ctx, victim); err != nil {
			return err
		}
	}
	f.trial.count(0, times)
	if err := f.endAll(ctx, []*process{enqueuer}, workers); err != nil {
		return err
	}
	_, list, err := f.judge(ctx)
	for _, job := range list {
		if job.Attempt-job.Uncounted != 1 || job.Crashes > 0 {
			f.trial.find(tally{other: []string{fmt.Sprintf("job %d was charged %d attempts and %d crashes", job.ID, job.Attempt-job.Uncounted, job.Crashes)}})
		}
	}
	return err
}

// busy gives the workers jobs until one is seen to run some: the others may be faster than a given worker, and all jobs
// may be done before the check.
func (f *fleet) busy(ctx context.Context, workers []*process, enqueue func() error) (victim *process, err error) {
	var given time.Time
	err = until(ctx, "a worker runs jobs", func() (bool, error) {
		if time.Since(given) > time.Second {
			given = time.Now()
			if err := enqueue(); err != nil {
				return false, err
			}
		}
		infos, err := inspect.New(f.client).Workers(ctx)
		for _, p := range workers {
			select {
			case <-p.ended:
				return false, fmt.Errorf("%s has ended: %w\n%s", p.Name, p.err, p.stderr.last())
			default:
			}
			for _, w := range infos {
				if w.Name == p.Name && w.Running > 0 {
					victim = p
				}
			}
		}
		return victim != nil, err
	})
	return victim, err
}

// leftNothing checks that no row of a live worker is left of a worker that has ended: jobs may depend on it.
func (f *fleet) leftNothing(ctx context.Context, p *process) error {
	infos, err := inspect.New(f.client).Workers(ctx)
	if err != nil {
		return err
	}
	for _, w := range infos {
		if w.Name == p.Name {
			f.trial.find(tally{other: []string{fmt.Sprintf("%s has ended, and is listed as a live worker with %d jobs", p.Name, w.Running)}})
		}
	}
	return nil
}
