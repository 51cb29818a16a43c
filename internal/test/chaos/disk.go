//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// laneDisk takes a SQLite database's disk away under processes that enqueue and work. A full disk, a limit on file
// sizes, a read-only file: the processes report it, keep what they must record, and continue when it is over. A file
// that was deleted, moved or replaced: they report it and end. Files and folders that may not be opened any more, and a
// read-only disk: processes with open files continue, and others report why they cannot. In no case is a job
// acknowledged that is not in the file that the path named then.
func laneDisk() lane {
	return lane{number: 5, name: "disk taken away", engines: []string{onSQLite}, run: diskTakenAway}
}

func diskTakenAway(ctx context.Context, t *trial) error {
	rounds := t.scaled(20)
	if t.long {
		rounds = 1000
	}
	done := 0
	for i, fault := range diskFaults() {
		dir := filepath.Join(t.dir, fmt.Sprint("fault", i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		err := t.withoutDisk(ctx, dir, fault, max(1, rounds/4))
		if errors.Is(err, errNotHere) {
			t.say("%s: %v", fault.name, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", fault.name, err)
		}
		done++
	}
	if done == 0 {
		return errors.New("no fault of a disk can be made here")
	}
	for round := range max(1, rounds/20) {
		for i, loss := range losses() {
			dir := filepath.Join(t.dir, fmt.Sprint("loss", round, "-", i))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			if err := t.withoutFile(ctx, dir, fmt.Sprint(round, "-", i, "-"), loss); err != nil {
				return fmt.Errorf("%s: %w", loss.name, err)
			}
		}
		if err := t.refused(ctx, round); err != nil {
			return err
		}
	}
	return nil
}

// The fleet of the lane. Its jobs are large, so that they need space.
const (
	diskWorkers   = 2
	diskEnqueuers = 2
	diskPad       = 3000
	diskBatch     = 20
	diskLease     = 3 * time.Second
)

// crew is a fleet that enqueues and works without end.
type crew struct {
	*fleet
	workers, enqueuers []*process
	acked              map[*process]int // jobs that an enqueuer reports as acknowledged
	asked              map[*process]int // and the requested ones
	every              time.Duration    // the least time between requests to it
	last               map[*process]time.Time
}

// newFleet makes a database and a fleet without processes for it. This process does not keep the database open.
func (t *trial) newFleet(ctx context.Context, path, name string) (*fleet, error) {
	f := &fleet{trial: t, name: name, address: path, ends: map[string]time.Time{}}
	store, err := sqlite.Open(ctx, path, sqlite.WithLogger(quiet()))
	if err != nil {
		return nil, err
	}
	_, err = jobs.New(store).Migrate(ctx)
	return f, errors.Join(err, store.Close())
}

// looking runs fn while this process has the fleet's database open.
func (f *fleet) looking(ctx context.Context, fn func() error) (err error) {
	store, err := sqlite.Open(ctx, f.address, sqlite.MustExist(), sqlite.WithLogger(quiet()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	f.client = jobs.New(store)
	return fn()
}

func (f *fleet) emptyCrew() *crew {
	return &crew{fleet: f, acked: map[*process]int{}, asked: map[*process]int{}, last: map[*process]time.Time{}}
}

// newCrew starts workers and enqueuers of jobs of a size.
func (f *fleet) newCrew(pad int) (*crew, error) {
	c := f.emptyCrew()
	for range diskWorkers {
		if err := c.addWorker(); err != nil {
			return nil, err
		}
	}
	for range diskEnqueuers {
		if err := c.addEnqueuer(pad); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *crew) addEnqueuer(pad int) error {
	p, err := c.start(role{Do: "enqueue", Name: fmt.Sprint("enqueuer ", len(c.all)), Pad: pad})
	if err != nil {
		return err
	}
	c.enqueuers = append(c.enqueuers, p)
	return nil
}

func (c *crew) addWorker() error {
	p, err := c.start(role{
		Do: "work", Name: fmt.Sprint("worker ", len(c.all)), Lease: diskLease, Grace: time.Second, Slots: 4, Longest: 10 * time.Millisecond,
	})
	c.workers = append(c.workers, p)
	return err
}

// busy keeps the enqueuers at work. An enqueuer that has ended says why.
func (c *crew) busy() error {
	for _, p := range c.enqueuers {
		for more := true; more; {
			select {
			case n, open := <-p.acked:
				if !open {
					return fmt.Errorf("%s has ended:\n%s", p.Name, p.stderr.last())
				}
				c.acked[p] += n
			default:
				more = false
			}
		}
		if c.acked[p] < c.asked[p] || time.Since(c.last[p]) < c.every {
			continue
		}
		c.last[p] = time.Now()
		if _, err := fmt.Fprintln(p.stdin, diskBatch); err != nil {
			return fmt.Errorf("%s: %w\n%s", p.Name, err, p.stderr.last())
		}
		c.asked[p] += diskBatch
	}
	return nil
}

// goesOn waits until each enqueuer has had jobs acknowledged, and one job has run, since now.
func (c *crew) goesOn(ctx context.Context) error {
	now := time.Now().UnixMicro()
	return c.each(ctx, "jobs are added and run", func(p *process, events []history.Event) bool {
		for _, e := range events {
			if e.At > now && (e.What == history.Acked || e.What == history.Start) {
				return true
			}
		}
		return false
	})
}

// each keeps the enqueuers at work until a condition holds for the history of each process.
func (c *crew) each(ctx context.Context, what string, holds func(*process, []history.Event) bool) error {
	left := append(append([]*process{}, c.workers...), c.enqueuers...)
	err := until(ctx, what, func() (bool, error) {
		if err := c.busy(); err != nil {
			return false, err
		}
		for len(left) > 0 {
			events, err := left[0].events()
			if err != nil || !holds(left[0], events) {
				return false, err
			}
			left = left[1:]
		}
		return true, nil
	})
	if err != nil && len(left) > 0 {
		return fmt.Errorf("%w; waiting for %s:\n%s", err, left[0].Name, left[0].stderr.last())
	}
	return err
}

// finish ends the processes, judges, and checks the file.
func (c *crew) finish(ctx context.Context) error {
	err := c.looking(ctx, func() error { return c.end(ctx) })
	c.trial.checkSound(ctx, c.address)
	return err
}

// end ends the processes when all jobs have, and judges.
func (c *crew) end(ctx context.Context) error {
	if err := c.endAll(ctx, c.enqueuers, c.workers); err != nil {
		return err
	}
	_, _, err := c.judge(ctx)
	return err
}

// withoutDisk runs a fault that comes and goes.
func (t *trial) withoutDisk(ctx context.Context, dir string, fault diskFault, rounds int) (err error) {
	undo, err := fault.prepare(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, undo()) }()
	f, err := t.newFleet(ctx, filepath.Join(dir, "jobs.db"), strings.ReplaceAll(fault.name, " ", "-")+"-")
	if err != nil {
		return err
	}
	defer f.killAll()
	c, err := f.newCrew(diskPad)
	if err != nil {
		return err
	}
	for range rounds {
		if err := c.goesOn(ctx); err != nil {
			return err
		}
		time.Sleep(time.Duration(t.random.IntN(int(100 * time.Millisecond)))) // the time of the fault
		if err := c.fault(ctx, dir, fault); err != nil {
			return err
		}
	}
	if err := c.goesOn(ctx); err != nil {
		return err
	}
	t.count(0, rounds)
	return c.finish(ctx)
}

// fault runs one fault until each affected process has met it.
func (c *crew) fault(ctx context.Context, dir string, fault diskFault) error {
	said := map[*process]int{}
	for _, p := range c.workers {
		said[p] = p.stderr.count(diskSaid)
	}
	began := time.Now().UnixMicro()
	if err := fault.begin(c, dir); err != nil {
		return errors.Join(err, fault.end(c, dir))
	}
	err := c.each(ctx, "the fault has been met", func(p *process, events []history.Event) bool {
		if p.Do == "work" {
			return fault.partial || p.stderr.count(diskSaid) > said[p]
		}
		for _, e := range events {
			if e.At > began && (e.What == history.Refused || e.What == history.Unknown) {
				return true
			}
		}
		return false
	})
	if err == nil && fault.late {
		err = c.addLate(ctx)
	}
	return errors.Join(err, fault.end(c, dir))
}

// The messages of a worker that meets the fault while it works, and at its start.
const (
	diskSaid  = "trying again"
	startSaid = "the database is not ready"
	begunSaid = "worker started"
)

// addLate replaces a worker by a new one while the disk fails. The new worker waits, unless a WAL that has begun anew
// has room for it.
func (c *crew) addLate(ctx context.Context) error {
	gone := c.workers[0]
	c.workers = c.workers[1:]
	if err := c.kill(gone); err != nil {
		return err
	}
	if err := c.addWorker(); err != nil {
		return err
	}
	late := c.workers[len(c.workers)-1]
	err := until(ctx, "a worker that starts waits, or has begun", func() (bool, error) {
		select {
		case <-late.ended:
			return false, fmt.Errorf("it has ended: %w", late.err)
		default:
			return late.stderr.count(startSaid) > 0 || late.stderr.count(begunSaid) > 0, nil
		}
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, late.stderr.last())
	}
	return nil
}
