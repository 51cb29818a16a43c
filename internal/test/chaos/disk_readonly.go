//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// readOnly makes a disk read-only. The system refuses that while processes have the database open, and they continue.
// When they are gone, a worker starts on it. It waits, or says why it ends, and works when the disk is writable again.
func (t *trial) readOnly(ctx context.Context, dir, name string) (err error) {
	undo, err := mountSmall(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, undo()) }()
	f, err := t.newFleet(ctx, filepath.Join(dir, "jobs.db"), name)
	if err != nil {
		return err
	}
	defer f.killAll()
	c, err := f.newCrew(diskPad)
	if err != nil {
		return err
	}
	if err := c.goesOn(ctx); err != nil {
		return err
	}
	if err := remount(dir, unix.MS_RDONLY); !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("a disk that is written to was made read-only: %v", err)
	}
	if err := c.goesOn(ctx); err != nil {
		return err
	}
	for _, p := range f.all {
		if err := f.kill(p); err != nil {
			return err
		}
	}
	if err := remount(dir, unix.MS_RDONLY); err != nil {
		return err
	}
	after := f.emptyCrew()
	if err := after.addWorker(); err != nil {
		return err
	}
	if err := after.judgeStart(ctx, after.workers[0]); err != nil {
		return err
	}
	if after.workers[0].stderr.count(begunSaid) > 0 {
		return errors.New("a worker has begun on a read-only disk")
	}
	if err := remount(dir, 0); err != nil {
		return err
	}
	t.count(0, 2)
	if err := after.addEnqueuer(diskPad); err != nil {
		return err
	}
	return after.after(ctx)
}

// remount changes the mount options of a file system.
func remount(dir string, flags uintptr) error {
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|flags, ""); err != nil {
		return fmt.Errorf("remount %s: %w", dir, err)
	}
	return nil
}
