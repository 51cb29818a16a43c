package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

var noop = jobs.Kind[args]{Name: "noop"}

func drain(ctx context.Context, s settings, d database) (figures, error) {
	return drainBeside(besideNothing)(ctx, s, d)
}

// drainBeside measures a drain in surroundings.
func drainBeside(surround beside) func(context.Context, settings, database) (figures, error) {
	return func(ctx context.Context, s settings, d database) (_ figures, err error) {
		_, client, end, err := openBeside(ctx, s, d, surround)
		if err != nil {
			return figures{}, err
		}
		defer func() { err = errors.Join(err, end()) }()
		if _, err := noop.EnqueueMany(ctx, client, payloads(0, s.jobs, 80)); err != nil {
			return figures{}, err
		}
		clock := d.start()
		ran, err := drainWith(ctx, client, s.concurrency)
		if err == nil && ran != int64(s.jobs) {
			err = fmt.Errorf("%d jobs ran, not %d", ran, s.jobs)
		}
		return clock.stop(s.jobs), err
	}
}

func drainWith(ctx context.Context, client *jobs.Client, concurrency int) (int64, error) {
	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: concurrency}})
	if err != nil {
		return 0, err
	}
	var ran atomic.Int64
	noop.Handle(runner, func(context.Context, jobs.Job, args) error { ran.Add(1); return nil })
	err = runner.Drain(ctx)
	return ran.Load(), err
}

// besideBacklog adds, on SQLite, done rows, and as many that are scheduled at the highest priority.
func besideBacklog(ctx context.Context, s settings, d database, client *jobs.Client) (func() error, error) {
	return func() error { return nil }, addBacklog(ctx, client, d.path, s.backlog)
}

func addBacklog(ctx context.Context, client *jobs.Client, path string, n int) error {
	const step = 100_000
	for done := 0; done < n; done += step {
		part := payloads(0, min(step, n-done), 80)
		if _, err := noop.EnqueueMany(ctx, client, part, jobs.In(24*time.Hour), jobs.Priority(jobs.MaxPriority)); err != nil {
			return err
		}
		if _, err := noop.EnqueueMany(ctx, client, part, jobs.Queue("old")); err != nil {
			return err
		}
	}
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = pool.ExecContext(ctx, "UPDATE jobs SET status = 'done', queue = 'default', finished_at = created_at WHERE queue = 'old'")
	if err != nil {
		return err
	}
	// What this left in the WAL is not part of a steady state.
	_, err = pool.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

func drainStores(ctx context.Context, s settings, d database) (figures, error) {
	store, client, err := open(ctx, d)
	if err != nil {
		return figures{}, err
	}
	defer store.Close()
	if _, err := noop.EnqueueMany(ctx, client, payloads(0, s.jobs, 80)); err != nil {
		return figures{}, err
	}
	const stores = 4
	var ran atomic.Int64
	errs := make([]error, stores)
	clock := d.start()
	var group sync.WaitGroup
	for i := range stores {
		group.Go(func() {
			other, client, err := open(ctx, d)
			if err != nil {
				errs[i] = err
				return
			}
			n, err := drainWith(ctx, client, s.concurrency)
			ran.Add(n)
			errs[i] = errors.Join(err, other.Close())
		})
	}
	group.Wait()
	err = errors.Join(errs...)
	if err == nil && ran.Load() != int64(s.jobs) {
		err = fmt.Errorf("%d jobs ran, not %d", ran.Load(), s.jobs)
	}
	return clock.stop(s.jobs), err
}

// insert has callers add one job after the other, all together as many as a part of a drain's jobs.
func insert(callers, part int) func(context.Context, settings, database) (figures, error) {
	return func(ctx context.Context, s settings, d database) (figures, error) {
		return insertBy(ctx, d, callers, s.jobs/part)
	}
}

func insertBy(ctx context.Context, d database, callers, n int) (figures, error) {
	store, client, err := open(ctx, d)
	if err != nil {
		return figures{}, err
	}
	defer store.Close()
	errs := make([]error, callers)
	clock := d.start()
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for i := c; i < n && errs[c] == nil; i += callers {
				_, errs[c] = noop.Enqueue(ctx, client, payload(i, 80))
			}
		})
	}
	group.Wait()
	return clock.stop(n), errors.Join(errs...)
}

func bulk(ctx context.Context, s settings, d database) (figures, error) {
	store, client, err := open(ctx, d)
	if err != nil {
		return figures{}, err
	}
	defer store.Close()
	list := payloads(0, s.jobs, 80)
	clock := d.start()
	_, err = noop.EnqueueMany(ctx, client, list)
	return clock.stop(s.jobs), err
}
