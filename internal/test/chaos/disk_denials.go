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
)

// denial is a permission that the system takes away and gives back. Processes keep the files that they have open.
type denial struct {
	name string
	path string // the refused file or folder, from the folder of the database
	mode os.FileMode
	met  bool // also to processes that have the database open
}

func denials() []denial {
	return []denial{
		{name: "database closed", path: "jobs.db", mode: 0},
		{name: "database read-only", path: "jobs.db", mode: 0o400},
		{name: "WAL closed", path: "jobs.db-wal", mode: 0},
		{name: "index closed", path: "jobs.db-shm", mode: 0},
		{name: "folder closed", path: ".", mode: 0, met: true}, // each write checks that the path still leads to the file
		{name: "folder read-only", path: ".", mode: 0o500},
	}
}

// refused takes permissions away, and then makes the disk read-only.
func (t *trial) refused(ctx context.Context, round int) error {
	user, err := t.unprivilegedAccount()
	if errors.Is(err, errNotHere) {
		t.say("permissions: %v", err)
	} else if err != nil {
		return err
	} else {
		for i, d := range denials() {
			dir := filepath.Join(t.dir, fmt.Sprint("denial", round, "-", i))
			if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, user.uid, user.gid)); err != nil {
				return err
			}
			if err := t.withoutPermission(ctx, dir, fmt.Sprint("denial-", round, "-", i, "-"), d, user); err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
		}
	}
	dir := filepath.Join(t.dir, fmt.Sprint("remount", round))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	err = t.readOnly(ctx, dir, fmt.Sprint("remount-", round, "-"))
	if errors.Is(err, errNotHere) {
		t.say("read-only disk: %v", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read-only disk: %w", err)
	}
	return nil
}

// withoutPermission takes a permission from processes of another user, one of which starts meanwhile, and gives it
// back.
func (t *trial) withoutPermission(ctx context.Context, dir, name string, d denial, user *account) error {
	f, err := t.newFleet(ctx, filepath.Join(dir, "jobs.db"), name)
	if err != nil {
		return err
	}
	if err := user.giveFolder(dir); err != nil {
		return err
	}
	f.user = user
	defer f.killAll()
	c, err := f.newCrew(diskPad)
	if err != nil {
		return err
	}
	if err := c.goesOn(ctx); err != nil {
		return err
	}
	path := filepath.Join(dir, d.path)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(t.random.IntN(int(50 * time.Millisecond)))) // the time of the fault
	said := c.said()
	began := time.Now().UnixMicro()
	if err := os.Chmod(path, d.mode); err != nil {
		return err
	}
	err = c.replaceOne(ctx)
	if err == nil && d.met {
		err = c.meet(ctx, said, began)
	}
	if err := errors.Join(err, os.Chmod(path, info.Mode().Perm())); err != nil {
		return err
	}
	t.count(0, 1)
	return c.after(ctx)
}

// said counts the retries that each worker has reported.
func (c *crew) said() map[*process]int {
	said := map[*process]int{}
	for _, p := range c.workers {
		said[p] = p.stderr.count(diskSaid)
	}
	return said
}

// meet waits until each process that ran before has met the fault: it reports it, and acknowledges nothing.
func (c *crew) meet(ctx context.Context, said map[*process]int, began int64) error {
	return c.each(ctx, "the fault has been met", func(p *process, events []history.Event) bool {
		if before, there := said[p]; there || p.Do == "work" {
			return !there || p.stderr.count(diskSaid) > before
		}
		for _, e := range events {
			if e.At > began && (e.What == history.Refused || e.What == history.Unknown) {
				return true
			}
		}
		return false
	})
}

// replaceOne kills a worker and starts another one, which works, waits, or ends with the reason.
func (c *crew) replaceOne(ctx context.Context) error {
	gone := c.workers[0]
	c.workers = c.workers[1:]
	if err := c.kill(gone); err != nil {
		return err
	}
	if err := c.addWorker(); err != nil {
		return err
	}
	return c.judgeStart(ctx, c.workers[len(c.workers)-1])
}

// whyNot are the messages of a process that the system does not let begin.
var whyNot = []string{"permission denied", "read-only", "cannot be opened"}

func (c *crew) judgeStart(ctx context.Context, p *process) error {
	err := until(ctx, "a worker that starts has begun, waits or ends", func() (bool, error) {
		if err := c.busy(); err != nil {
			return false, err
		}
		return p.hasEnded() || p.stderr.count(startSaid) > 0 || p.stderr.count(begunSaid) > 0, nil
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.stderr.last())
	}
	text := strings.TrimSpace(p.stderr.last())
	if !p.hasEnded() && p.stderr.count(startSaid) == 0 {
		return nil
	}
	for _, word := range whyNot {
		if strings.Contains(text, word) {
			c.trial.say("%s does not begin: %s", p.Name, text[strings.LastIndexByte(text, '\n')+1:])
			return nil
		}
	}
	c.trial.find(tally{other: []string{fmt.Sprintf("%s does not begin, and does not say why:\n%s", p.Name, text)}})
	return nil
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// after checks that the processes continue by themselves, except those that ended at their start: these are started
// again.
func (c *crew) after(ctx context.Context) error {
	for i, p := range c.workers {
		if p.hasEnded() {
			if err := c.addWorker(); err != nil {
				return err
			}
			c.workers[i] = c.workers[len(c.workers)-1]
			c.workers = c.workers[:len(c.workers)-1]
		}
	}
	if err := c.goesOn(ctx); err != nil {
		return err
	}
	return c.finish(ctx)
}
