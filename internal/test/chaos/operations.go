//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// operation is an action during which the disk fails.
type operation struct {
	name     string
	seed     string // the files that it begins with; none when empty
	opens    bool   // it opens the store itself
	arms     bool   // it reports itself when the fault may come
	migrates bool   // the schema is not right before it
	dear     int    // the short form makes fewer runs of it by this factor
	do       func(context.Context, *subject) error
	again    func(context.Context, *subject) error // must work when the disk does
}

// The databases that operations begin with.
const (
	seedQueue = "queue" // a queue with jobs
	seedCrash = "crash" // the same, left by a process that died: its WAL must be recovered
	seedOld   = "old"   // the same, one version back
)

// seedJobs is the number of jobs of the seeds.
const seedJobs = 12

func operations() []operation {
	page := strings.Repeat("x", 3000)
	return []operation{
		{name: "enqueue", seed: seedQueue, do: func(ctx context.Context, s *subject) error {
			return errors.Join(s.ledger.enqueue(ctx, s.client, "", "one"), s.ledger.enqueue(ctx, s.client, "", "two"))
		}},
		{name: "enqueue together", seed: seedQueue, do: func(ctx context.Context, s *subject) error {
			var all sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				all.Go(func() { errs[i] = s.ledger.enqueue(ctx, s.client, page, fmt.Sprint("together ", i)) })
			}
			all.Wait()
			return errors.Join(errs...)
		}},
		// More pages than SQLite lets the WAL have before it makes a checkpoint.
		{name: "enqueue many", seed: seedQueue, dear: 5, do: func(ctx context.Context, s *subject) error {
			keys := make([]string, 70)
			for i := range keys {
				keys[i] = fmt.Sprint("many ", i)
			}
			large := strings.Repeat("x", 60_000)
			return errors.Join(s.ledger.enqueue(ctx, s.client, large, keys...), s.ledger.enqueue(ctx, s.client, "", "next"),
				s.ledger.enqueue(ctx, s.client, "", "last"))
		}},
		{name: "work", seed: seedQueue, arms: true, do: work},
		{name: "open", seed: seedQueue, opens: true, do: reopen, again: reopen},
		{name: "recover", seed: seedCrash, opens: true, do: reopen, again: reopen},
		{name: "close", seed: seedCrash, do: func(ctx context.Context, s *subject) error {
			return errors.Join(s.ledger.enqueue(ctx, s.client, "", "before the end"), s.close())
		}},
		{name: "migrate", seed: seedOld, migrates: true, do: migrate, again: migrate},
		{name: "make", opens: true, migrates: true, do: func(ctx context.Context, s *subject) error {
			if err := s.open(ctx); err != nil {
				return err
			}
			return migrate(ctx, s)
		}, again: func(ctx context.Context, s *subject) error {
			if s.store == nil {
				if err := s.open(ctx); err != nil {
					return err
				}
			}
			return migrate(ctx, s)
		}},
		{name: "back up", seed: seedCrash, do: func(ctx context.Context, s *subject) error {
			return s.client.Backup(ctx, filepath.Join(s.dir, "backup.db"))
		}, again: checkBackup},
	}
}

func migrate(ctx context.Context, s *subject) error {
	_, err := s.client.Migrate(ctx)
	return err
}

// reopen opens the store if that did not succeed before, and reads.
func reopen(ctx context.Context, s *subject) error {
	if s.store == nil {
		return s.open(ctx)
	}
	_, err := inspect.New(s.client).Stats(ctx)
	return err
}

// work lets a worker do all jobs. The fault comes when the first handler has been called. A worker keeps trying, so all
// jobs end without another one.
func work(ctx context.Context, s *subject) error {
	ctx, cancel := context.WithTimeout(ctx, hang)
	defer cancel()
	started := make(chan struct{}, seedJobs)
	armed := make(chan struct{})
	runner, err := s.ledger.runner(s.client, func(ctx context.Context, _ jobs.Job) error {
		started <- struct{}{}
		select {
		case <-armed:
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- runner.Run(ctx) }()
	select {
	case <-started:
	case err := <-done:
		stop()
		return fmt.Errorf("the worker ended before it began: %w", err)
	}
	s.arm()
	close(armed)
	waited := allEnded(ctx, s)
	stop()
	err = <-done
	if engine.StoreOf(s.store).CanRetry(err) { // the fault came at the worker's end
		s.lab.say("a worker ended with %v", err)
		err = nil
	}
	return errors.Join(waited, err)
}

// allEnded waits until no job is waiting or running. It continues when a check fails.
func allEnded(ctx context.Context, s *subject) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		stats, err := inspect.New(s.client).Stats(ctx)
		if err == nil && stats.Jobs[jobs.StatusPending]+stats.Jobs[jobs.StatusRunning]+stats.Jobs[jobs.StatusScheduled] == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("given up waiting for all jobs to end: %v, %w", stats.Jobs, errors.Join(err, ctx.Err()))
		case <-tick.C:
		}
	}
}

// checkBackup checks a backup that was made, or makes it if that failed: nothing is in the way then.
func checkBackup(ctx context.Context, s *subject) (err error) {
	path := filepath.Join(s.dir, "backup.db")
	if s.err != nil {
		if exists(path) {
			s.lab.find(tally{other: []string{fmt.Sprintf("%s: a backup that failed (%v) left its file", s.injection, s.err)}})
			if err := os.Remove(path); err != nil {
				return err
			}
		}
		if err := s.client.Backup(ctx, path); err != nil {
			return err
		}
	}
	store, err := sqlite.Open(ctx, path, sqlite.MustExist(), sqlite.WithLogger(quiet()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	found, err := s.ledger.copied().finish(ctx, jobs.New(store), path, false)
	s.lab.find(found.named(s.injection.String() + ", the backup"))
	return err
}
