//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// laneZombie stops a worker for longer than its lease. Another one claims its job. Then the first one continues and
// ends the job first, by a handler that heeds the end of its context or by one that does not: its end is refused.
func laneZombie() lane {
	return lane{number: 2, name: "zombie", engines: []string{onSQLite, onPostgres}, run: func(ctx context.Context, t *trial) error {
		return onQueue(ctx, t, func(f *fleet) error {
			rounds := f.trial.scaled(4)
			if t.long {
				rounds = 200
			}
			for i := range rounds {
				if err := f.zombie(ctx, i); err != nil {
					return fmt.Errorf("round %d: %w", i, err)
				}
			}
			_, _, err := f.judge(ctx)
			return err
		})
	}}
}

func (f *fleet) zombie(ctx context.Context, round int) error {
	r := role{Do: "work", Lease: time.Second, Slots: 1, Grace: time.Second, Heeds: round%2 == 0}
	r.Name = fmt.Sprint("zombie ", round)
	zombie, err := f.start(r)
	if err != nil {
		return err
	}
	enqueuer, err := f.start(role{Do: "enqueue", Name: fmt.Sprint("enqueuer ", round)})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(enqueuer.stdin, 1); err != nil {
		return err
	}
	if err := enqueuer.release(); err != nil {
		return err
	}
	if err := f.started(ctx, zombie, 1); err != nil {
		return err
	}
	if err := f.betweenWrites(ctx, func() error { return zombie.stop() }); err != nil {
		return err
	}
	r.Name, r.Lease = fmt.Sprint("taker ", round), 5*time.Second
	taker, err := f.start(r)
	if err != nil {
		return err
	}
	if err := f.started(ctx, taker, 2); err != nil {
		return err
	}
	f.trial.count(0, 1)
	if !r.Heeds { // it finds that it may end as soon as it continues
		if err := zombie.stdin.Close(); err != nil {
			return err
		}
	}
	if err := zombie.signal(syscall.SIGCONT); err != nil {
		return err
	}
	err = until(ctx, "the zombie's end is refused", func() (bool, error) {
		events, err := zombie.events()
		for _, e := range events {
			if e.What == history.Stale && e.Attempt == 1 {
				return true, nil
			}
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, zombie.stderr.last())
	}
	list, err := inspect.New(f.client).List(ctx, inspect.Filter{Status: jobs.StatusRunning})
	if err != nil {
		return err
	}
	if len(list) != 1 || list[0].Attempt != 2 {
		f.trial.find(tally{stale: []string{fmt.Sprintf("round %d: while the taker runs attempt 2, the jobs that run are %v", round, list)}})
	}
	return errors.Join(taker.release(), zombie.release())
}

// started waits until a process has started an attempt.
func (f *fleet) started(ctx context.Context, p *process, attempt int) error {
	err := until(ctx, fmt.Sprintf("%s has started attempt %d", p.Name, attempt), func() (bool, error) {
		events, err := p.events()
		for _, e := range events {
			if e.What == history.Start && e.Attempt == attempt {
				return true, nil
			}
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.stderr.last())
	}
	return nil
}

// stop stops a process and waits until it has stopped.
func (p *process) stop() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return until(context.Background(), p.Name+" has stopped", func() (bool, error) {
		return stopped(p.cmd.Process.Pid)
	})
}

// betweenWrites runs fn while no process is in the middle of a write on a SQLite file: a process that is stopped there
// keeps the file locked, which nothing can undo. (A PostgreSQL server ends such a transaction after a while.)
func (f *fleet) betweenWrites(ctx context.Context, fn func() error) (err error) {
	if f.trial.engine == onPostgres {
		return fn()
	}
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(f.address), RawQuery: "mode=rw&_txlock=immediate&_pragma=busy_timeout(30000)"}
	pool, err := sql.Open("sqlite", address.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	return errors.Join(fn(), tx.Rollback())
}
