package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// roles are what worker processes can be told to do, by name. A role returns the starts of jobs that it saw.
func roles() map[string]func(context.Context, task, *parent) ([]begun, error) {
	return map[string]func(context.Context, task, *parent) ([]begun, error){
		"drain":     drainRole,
		"raw drain": pgDrainRole,
		"work":      workRole,
		"raw work":  pgWorkRole,
		"idle":      idleRole,
	}
}

// oldJournal collects starts.
type oldJournal struct {
	mu    sync.Mutex
	list  []begun
	most  int
	ended chan struct{} // closed when there are that many
}

func newOldJournal(most int) *oldJournal { return &oldJournal{most: most, ended: make(chan struct{})} }

func (l *oldJournal) handle(_ context.Context, job jobs.Job, a args) error {
	now := time.Now().UnixNano()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, begun{Job: job.ID, Attempt: int64(job.Attempt), N: a.N, At: now})
	if len(l.list) == l.most {
		close(l.ended)
	}
	return nil
}

// wait waits for the last start.
func (l *oldJournal) wait() error {
	select {
	case <-l.ended:
		return nil
	case <-time.After(lastStart):
		return fmt.Errorf("the last of %d jobs was not started", l.most)
	}
}

// newWorker opens a database for a role; its runner writes its starts into the oldJournal.
func newWorker(ctx context.Context, t task) (jobs.Store, *jobs.Runner, *oldJournal, error) {
	store, err := openStore(ctx, t.Path)
	if err != nil {
		return nil, nil, nil, err
	}
	client := jobs.New(store)
	err = client.CheckSchema(ctx) // connects
	if err != nil {
		return nil, nil, nil, errors.Join(err, store.Close())
	}
	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: t.Concurrency}})
	if err != nil {
		return nil, nil, nil, errors.Join(err, store.Close())
	}
	log := newOldJournal(t.Jobs)
	noop.Handle(runner, log.handle)
	return store, runner, log, nil
}

// drainRole drains the queue with the others.
func drainRole(ctx context.Context, t task, p *parent) ([]begun, error) {
	store, runner, log, err := newWorker(ctx, t)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if err := p.ready(); err != nil {
		return nil, err
	}
	if err := runner.Drain(ctx); err != nil {
		return nil, err
	}
	return log.list, p.done()
}

// workRole runs as many jobs as it is told to.
func workRole(ctx context.Context, t task, p *parent) ([]begun, error) {
	return work(ctx, t, p, (*oldJournal).wait)
}

// idleRole has nothing to do for a while.
func idleRole(ctx context.Context, t task, p *parent) ([]begun, error) {
	return work(ctx, t, p, func(*oldJournal) error { time.Sleep(idleFor); return nil })
}

// work has a runner run before it is ready, until wait returns.
func work(ctx context.Context, t task, p *parent, wait func(*oldJournal) error) ([]begun, error) {
	store, runner, log, err := newWorker(ctx, t)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	if err := p.ready(); err != nil {
		return nil, err
	}
	waited := make(chan error, 1)
	go func() { waited <- wait(log) }()
	select {
	case err := <-ended:
		return nil, fmt.Errorf("the runner ended too early: %w", err)
	case err := <-waited:
		if err := errors.Join(err, p.done()); err != nil {
			return nil, err
		}
	}
	stop()
	err = <-ended
	return log.list, err
}
