package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// newRunner makes a runner that reports each start of a job to start.
func newRunner(client *jobs.Client, t task, retention jobs.Retention, start func(n int)) (*jobs.Runner, complaints, error) {
	complaints := newComplaints()
	runner, err := jobs.NewRunner(client, jobs.Config{
		Queues:    map[string]int{jobs.DefaultQueue: t.Concurrency},
		Retention: retention,
		Ahead:     t.Ahead,
		Logger:    slog.New(complaints),
	})
	if err != nil {
		return nil, complaints, err
	}
	noop.Handle(runner, func(ctx context.Context, _ jobs.Job, a args) error {
		start(a.N)
		return simulateWork(ctx, t.Hold)
	})
	return runner, complaints, nil
}

func drainRole(ctx context.Context, t task, p *parent) (report, error) {
	return drainStore(ctx, t, p, func(s jobs.Store) jobs.Store { return s })
}

func drainStore(ctx context.Context, t task, p *parent, by func(jobs.Store) jobs.Store) (report, error) {
	store, _, err := open(ctx, t)
	if err != nil {
		return report{}, err
	}
	defer store.Close()
	log := newJournal(t.Jobs)
	runner, complaints, err := newRunner(jobs.New(by(store)), t, jobs.Retention{}, log.start)
	if err != nil {
		return report{}, err
	}
	return p.measure(func() (report, error) {
		err := runner.Drain(ctx)
		return report{Begun: log.starts(), Errors: int(complaints.count.Load())}, err
	})
}

func workRole(ctx context.Context, t task, p *parent) (report, error) {
	log := newJournal(t.Jobs)
	return withRunner(ctx, t, p, jobs.Retention{}, log.start, func(ctx context.Context, _ *jobs.Client) (report, error) {
		err := log.wait(ctx)
		return report{Begun: log.starts()}, err
	})
}

func latencyRole(ctx context.Context, t task, p *parent) (report, error) {
	log := newJournal(t.Jobs)
	return withRunner(ctx, t, p, jobs.Retention{}, log.start, func(ctx context.Context, client *jobs.Client) (report, error) {
		sent, err := pace(ctx, t, adder(ctx, t, client))
		if err == nil {
			err = log.wait(ctx)
		}
		return report{Begun: log.starts(), Sent: sent}, err
	})
}

func idleRole(ctx context.Context, t task, p *parent) (report, error) {
	return withRunner(ctx, t, delayedParent{p}, jobs.Retention{}, func(int) {}, func(ctx context.Context, _ *jobs.Client) (report, error) {
		return report{}, simulateWork(ctx, t.For)
	})
}

// withRunner measures fn while a runner runs.
func withRunner(ctx context.Context, t task, p measurer, retention jobs.Retention, start func(n int),
	fn func(context.Context, *jobs.Client) (report, error)) (report, error) {
	store, client, err := open(ctx, t)
	if err != nil {
		return report{}, err
	}
	defer store.Close()
	runner, complaints, err := newRunner(client, t, retention, start)
	if err != nil {
		return report{}, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan error, 1)
	go func() {
		err := runner.Run(ctx)
		ended <- err
		stop(fmt.Errorf("the runner ended too early: %w", err)) // no effect when it was told to end
	}()
	r, err := p.measure(func() (report, error) { return fn(ctx, client) })
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	stop(nil)
	r.Errors += int(complaints.count.Load())
	return r, errors.Join(err, <-ended)
}

// measurer measures fn.
type measurer interface {
	measure(fn func() (report, error)) (report, error)
}

// delayedParent is a parent that starts to measure some time after its worker is ready.
type delayedParent struct{ parent *parent }

func (s delayedParent) measure(fn func() (report, error)) (report, error) {
	time.Sleep(restBeforeIdle)
	return s.parent.measure(fn)
}
