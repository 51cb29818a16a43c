//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
)

// loss is a loss of a database's files under processes that use them. It cannot be undone while they run: they report
// it and end.
type loss struct {
	name string
	take func(path string) error
	// then makes the files usable for others, and returns their path; empty when nothing is left.
	then func(path string) (string, error)
	// fresh says that the others continue with another queue, which path made.
	fresh bool
}

func losses() []loss {
	return []loss{
		{name: "database deleted", take: os.Remove, then: func(string) (string, error) { return "", nil }},
		{name: "database moved", take: func(path string) error { return os.Rename(path, path+".moved") }, then: func(path string) (string, error) {
			// Its WAL belongs to it.
			return path + ".moved", errors.Join(os.Rename(path+"-wal", path+".moved-wal"), os.Remove(path+"-shm"))
		}},
		{name: "database replaced", fresh: true, take: func(path string) error { return os.Rename(path+".fresh", path) },
			then: func(path string) (string, error) {
				return path, errors.Join(os.Remove(path+"-wal"), os.Remove(path+"-shm"))
			}},
		{name: "WAL deleted", take: func(path string) error { return os.Remove(path + "-wal") }, then: stays},
		{name: "WAL and its index deleted", take: func(path string) error { return errors.Join(os.Remove(path+"-wal"), os.Remove(path+"-shm")) }, then: stays},
	}
}

func stays(path string) (string, error) { return path, nil }

// freshJobs is the number of jobs in the queue that replaces another.
const freshJobs = 20

// withoutFile removes files for good, and other processes take over.
func (t *trial) withoutFile(ctx context.Context, dir, name string, l loss) error {
	path := filepath.Join(dir, "jobs.db")
	f, err := t.newFleet(ctx, path, name)
	if err != nil {
		return err
	}
	defer f.killAll()
	next := f
	if l.fresh {
		if next, err = t.freshQueue(ctx, path+".fresh", name+"fresh-"); err != nil {
			return err
		}
		defer next.killAll()
	}
	c, err := f.newCrew(diskPad)
	if err != nil {
		return err
	}
	if err := c.goesOn(ctx); err != nil {
		return err
	}
	if err := c.busy(); err != nil {
		return err
	}
	time.Sleep(time.Duration(t.random.IntN(int(50 * time.Millisecond)))) // the time of the fault
	if err := l.take(path); err != nil {
		return err
	}
	gone := time.Now()
	if err := c.giveUp(ctx); err != nil {
		return err
	}
	if err := c.noneAcknowledged(gone); err != nil {
		return err
	}
	t.count(0, 1)
	address, err := l.then(path)
	if err != nil || address == "" {
		return err
	}
	next.address = address
	worker, err := next.start(role{Do: "work", Name: "successor", Lease: diskLease, Slots: 4, Longest: 10 * time.Millisecond})
	if err != nil {
		return err
	}
	after := &crew{fleet: next, workers: []*process{worker}}
	return after.finish(ctx)
}

// freshQueue makes a queue with jobs that no process has open.
func (t *trial) freshQueue(ctx context.Context, path, name string) (*fleet, error) {
	f, err := t.newFleet(ctx, path, name)
	if err != nil {
		return nil, err
	}
	enqueuer, err := f.start(role{Do: "enqueue", Name: "maker", Pad: diskPad})
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(enqueuer.stdin, freshJobs)
	return f, errors.Join(err, enqueuer.release())
}

// giveUp waits until all processes have ended, each with a message about the file.
func (c *crew) giveUp(ctx context.Context) error {
	for _, p := range append(append([]*process{}, c.workers...), c.enqueuers...) {
		err := until(ctx, p.Name+" ends", func() (bool, error) {
			select {
			case <-p.ended:
				return true, nil
			default:
			}
			if p.Do == "work" {
				return false, nil
			}
			// An enqueuer uses the file only when it is asked to enqueue.
			if _, err := fmt.Fprintln(p.stdin, 1); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
				return false, err
			}
			return false, nil
		})
		if err != nil {
			return fmt.Errorf("%w\n%s", err, p.stderr.last())
		}
		if text := p.stderr.last(); p.err == nil || !strings.Contains(text, jobs.ErrReplaced.Error()) {
			c.trial.find(tally{other: []string{fmt.Sprintf("%s ends with %v and says nothing of the file:\n%s", p.Name, p.err, text)}})
		}
	}
	return nil
}

// glance is the longest time for which a busy process may not have looked at its files: docs/decisions/0049-look-at-files.md.
const glance = 10 * time.Millisecond

// noneAcknowledged checks that no enqueue was acknowledged that began later than a glance after the file was gone.
func (c *crew) noneAcknowledged(gone time.Time) error {
	for _, p := range c.enqueuers {
		events, err := p.events()
		if err != nil {
			return err
		}
		late := map[string]bool{}
		for _, e := range events {
			switch {
			case e.What == history.Invoke && e.Time().After(gone.Add(glance)):
				late[e.Key] = true
			case e.What == history.Acked && late[e.Key]:
				c.trial.find(tally{lost: []string{fmt.Sprintf("%q was acknowledged, and its database was gone", e.Key)}})
			}
		}
	}
	return nil
}
