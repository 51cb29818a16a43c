package main

import (
	"context"
	"errors"
	"time"
)

// padding makes a payload of about 100 bytes.
const padding = 80

// task returns one task of the run's system with the usual size and all its jobs.
func (r running) task(role string) task {
	t := r.contender.task(role, r.database)
	t.Jobs, t.Concurrency, t.Size, t.Callers = r.n, r.concurrency, padding, 1
	if r.contender.slots > 0 {
		t.Concurrency = r.contender.slots
	}
	return t
}

// profiled returns a task that is profiled if any is: the main one of a run.
func (r running) profiled(t task) task {
	t.Profile = r.profile
	return t
}

// prepare runs a role without measuring it, such as one that fills the queue.
func (r running) prepare(ctx context.Context, t task) error {
	_, reports, err := r.together(ctx, []task{t})
	if err == nil && reports[0].Errors > 0 {
		err = errors.New("the queue could not be filled without errors")
	}
	return err
}

// together starts the worker processes at the same time, and waits for all. It returns each process's report, in order,
// and the duration of the first of them, the measured one, and of those that do the same.
func (r running) together(ctx context.Context, tasks []task) (figures, []report, error) {
	return r.togetherWatched(ctx, tasks, func(children) {}, func() error { return nil })
}

// togetherWatched calls begun when the processes have begun, and done when they are done or have failed, if it called
// begun.
func (r running) togetherWatched(ctx context.Context, tasks []task, begun func(children), done func() error) (figures, []report, error) {
	workers, err := startChildren(ctx, tasks)
	if err != nil {
		return figures{}, nil, err
	}
	clock := startClock(r.database)
	if err := workers.begin(); err != nil {
		return figures{}, nil, err
	}
	begun(workers)
	if err := errors.Join(workers.done(), done()); err != nil {
		return figures{}, nil, err
	}
	f := clock.stop()
	reports, err := workers.reports()
	if err != nil {
		return figures{}, nil, err
	}
	f.n, f.concurrency = tasks[0].Jobs, tasks[0].Concurrency
	for i, report := range reports {
		f.errors += report.Errors
		if tasks[i].Role == tasks[0].Role {
			f.processes++
			f.cpu += report.CPU
			f.peakRSS = max(f.peakRSS, report.PeakRSS)
		}
	}
	return f, reports, nil
}

// clock measures the counted part of a run.
type clock struct {
	database  database
	begin     time.Time
	serverCPU time.Duration
}

func startClock(d database) clock {
	return clock{database: d, serverCPU: d.used(), begin: time.Now()}
}

func (c clock) stop() figures {
	return figures{seconds: time.Since(c.begin).Seconds(), serverCPU: c.database.used() - c.serverCPU}
}
