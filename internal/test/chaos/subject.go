//go:build linux

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/sqlfiles"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// hang is the limit of a wait. No outcome depends on how long anything takes.
const hang = time.Minute

// subject is a database on which an operation with a fault is tried.
type subject struct {
	injection
	lab    *faultLab
	dir    string
	path   string
	store  *sqlite.Store
	client *jobs.Client
	ledger *ledger
	err    error // of the operation
}

func (s *subject) arm() {
	if s.plan.At == 0 {
		s.lab.fs.Count()
	} else {
		s.lab.fs.Arm(s.plan)
	}
}

// open opens the store and prepares its statements.
func (s *subject) open(ctx context.Context) error {
	store, err := sqlite.Open(ctx, s.path, sqlite.WithDurability(s.durability), sqlite.WithLogger(quiet()))
	if err != nil {
		return err
	}
	s.store, s.client = store, jobs.New(store)
	if s.op.seed == "" || s.op.migrates {
		return nil
	}
	_, err = inspect.New(s.client).Stats(ctx)
	return err
}

func (s *subject) close() error {
	if s.store == nil {
		return nil
	}
	store := s.store
	s.store = nil
	return store.Close()
}

// check checks the result of an operation, now that the disk works again.
func (s *subject) check(ctx context.Context, i injection) error {
	// The process dies right here.
	image := filepath.Join(s.dir, "image")
	if err := copyFolder(s.dir, image); err != nil {
		return err
	}
	if err := s.checkImage(ctx, filepath.Join(image, "jobs.db")); err != nil {
		return fmt.Errorf("%s, dead after %v: %w", i, s.err, err)
	}
	// Or it continues.
	if s.op.again != nil {
		if err := s.op.again(ctx, s); err != nil {
			return fmt.Errorf("once more, after %v: %w", s.err, err)
		}
	}
	if s.store == nil {
		if err := s.open(ctx); err != nil {
			return fmt.Errorf("open, after %v: %w", s.err, err)
		}
	}
	name := fmt.Sprintf("%s, after %v", i, s.err)
	if err := s.ledger.enqueue(ctx, s.client, "", "after the fault"); err != nil {
		s.lab.find(tally{other: []string{fmt.Sprintf("%s: the disk works again, and an enqueue gives %v", name, err)}})
		return nil
	}
	found, err := s.ledger.finish(ctx, s.client, s.path, false)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.lab.find(found.named(name))
	return nil
}

// checkImage checks a copy of the files as the next process would find it after this one died.
func (s *subject) checkImage(ctx context.Context, path string) (err error) {
	store, err := sqlite.Open(ctx, path, sqlite.WithLogger(quiet()))
	if err != nil {
		return fmt.Errorf("open the copy: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	client := jobs.New(store)
	if _, err := client.Migrate(ctx); err != nil {
		return fmt.Errorf("migrate the copy: %w", err)
	}
	found, err := s.ledger.copied().finish(ctx, client, path, true)
	if err != nil {
		return err
	}
	s.lab.find(found.named(fmt.Sprintf("%s, dead after %v", s.injection, s.err)))
	return nil
}

// finish compares, lets a worker do the rest, compares again, and checks that the database is sound.
func (l *ledger) finish(ctx context.Context, client *jobs.Client, path string, charged bool) (t tally, err error) {
	list, err := allJobs(ctx, client)
	if err != nil {
		return t, err
	}
	t = l.compare(list, charged)
	if err := l.drain(ctx, client); err != nil {
		return t, fmt.Errorf("drain: %w", err)
	}
	if list, err = allJobs(ctx, client); err != nil {
		return t, err
	}
	t.add(l.compare(list, charged))
	for _, job := range list {
		if job.Status != jobs.StatusDone {
			t.lost = append(t.lost, fmt.Sprintf("job %d stays %s: %s", job.ID, job.Status, job.LastError))
		} else if !l.ran(job) {
			t.other = append(t.other, fmt.Sprintf("job %d is done, and no handler has returned", job.ID))
		}
	}
	damage, err := integrity(ctx, path)
	if damage != "ok" {
		t.other = append(t.other, "the database is damaged: "+damage)
	}
	return t, err
}

// drain lets a worker do all jobs.
func (l *ledger) drain(ctx context.Context, client *jobs.Client) error {
	ctx, cancel := context.WithTimeout(ctx, hang)
	defer cancel()
	runner, err := l.runner(client, func(context.Context, jobs.Job) error { return nil })
	if err != nil {
		return err
	}
	if err := runner.Drain(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

// runner makes a worker that records its starts and ends.
func (l *ledger) runner(client *jobs.Client, handler func(context.Context, jobs.Job) error) (*jobs.Runner, error) {
	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 3}, Logger: quiet()})
	if err != nil {
		return nil, err
	}
	jobs.Kind[json.RawMessage]{Name: kind}.Handle(runner, func(ctx context.Context, job jobs.Job, _ json.RawMessage) error {
		l.start(job)
		err := handler(ctx, job)
		if err == nil {
			l.end(job)
		}
		return err
	})
	return runner, nil
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// allJobs lists every job, whatever its status.
func allJobs(ctx context.Context, client *jobs.Client) ([]jobs.Job, error) {
	var list []jobs.Job
	for after := int64(0); ; {
		page, err := inspect.New(client).List(ctx, inspect.Filter{Queue: jobs.DefaultQueue, After: after, Limit: inspect.MaxPage})
		if err != nil || len(page) == 0 {
			return list, err
		}
		list = append(list, page...)
		after = page[len(page)-1].ID
	}
}

// integrity returns SQLite's report on a database file: "ok" or the fault.
func integrity(ctx context.Context, path string) (said string, err error) {
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=rw&_pragma=busy_timeout(5000)"}
	pool, err := sql.Open("sqlite", address.String())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	rows, err := pool.QueryContext(ctx, sqlfiles.Control("sqlite")("integrity_check"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; "), rows.Err()
}

// copied returns the ledger as it is now.
func (l *ledger) copied() *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := newLedger()
	maps.Copy(c.added, l.added)
	maps.Copy(c.refused, l.refused)
	maps.Copy(c.unknown, l.unknown)
	maps.Copy(c.starts, l.starts)
	maps.Copy(c.highest, l.highest)
	maps.Copy(c.finished, l.finished)
	return c
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
