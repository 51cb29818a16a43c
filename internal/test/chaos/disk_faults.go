//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// diskFault comes and goes under processes that continue.
type diskFault struct {
	name       string
	partial    bool                                   // small writes may still fit: a worker need not meet the fault
	late       bool                                   // a worker that starts meanwhile must wait for its end
	prepare    func(dir string) (func() error, error) // prepares the folder of the database, and undoes that
	begin, end func(c *crew, dir string) error
}

func diskFaults() []diskFault {
	return []diskFault{
		{name: "disk full", late: true, prepare: mountSmall, begin: fill, end: func(_ *crew, dir string) error {
			return os.Remove(filler(dir))
		}},
		{name: "file size limit", partial: true, prepare: asItIs, begin: func(c *crew, _ string) error { return c.limit(fileLimit) },
			end: func(c *crew, _ string) error { return c.limit(unix.RLIM_INFINITY) }},
		{name: "immutable files", prepare: changeable, begin: func(_ *crew, dir string) error { return changeAttribute(dir, "+i") },
			end: func(_ *crew, dir string) error { return changeAttribute(dir, "-i") }},
	}
}

func asItIs(string) (func() error, error) { return func() error { return nil }, nil }

// diskSize is the size of the small disk: enough for the jobs of a run.
const diskSize = 256 << 20

// mountSmall mounts a file system in memory.
func mountSmall(dir string) (func() error, error) {
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", diskSize))
	if err != nil {
		return nil, fmt.Errorf("%w: a file system cannot be mounted: %w", errNotHere, err)
	}
	return func() error { return unix.Unmount(dir, 0) }, nil
}

func filler(dir string) string { return filepath.Join(dir, "filler") }

// fill uses up all free space.
func fill(_ *crew, dir string) error {
	file, err := os.Create(filler(dir))
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for size := len(block); size > 0 && err == nil; {
		if _, err = file.Write(block[:size]); errors.Is(err, syscall.ENOSPC) {
			size /= 2
			err = nil
		}
	}
	return errors.Join(err, file.Close())
}

// fileLimit lies between the size of the processes' histories and that of their database.
const fileLimit = 2 << 20

// limit bounds the size of files that the processes of a fleet may write.
func (c *crew) limit(size uint64) error {
	for _, p := range append(append([]*process{}, c.workers...), c.enqueuers...) {
		if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}, nil); err != nil {
			return fmt.Errorf("limit the files of %s: %w", p.Name, err)
		}
	}
	return nil
}

// changeable reports whether files can be made immutable, also for root.
func changeable(dir string) (func() error, error) {
	probe := filepath.Join(dir, "probe")
	if err := os.WriteFile(probe, nil, 0o600); err != nil {
		return nil, err
	}
	err := chattr("+i", probe)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errNotHere, err), os.Remove(probe))
	}
	if err := errors.Join(chattr("-i", probe), os.Remove(probe)); err != nil {
		return nil, err
	}
	return func() error { return changeAttribute(dir, "-i") }, nil
}

func changeAttribute(dir, change string) error {
	paths := []string{filepath.Join(dir, "jobs.db")}
	if wal := paths[0] + "-wal"; exists(wal) { // which goes with the last process
		paths = append(paths, wal)
	}
	return chattr(change, paths...)
}

// chattr runs as a program, because this process must not open and close a database's files.
func chattr(change string, paths ...string) error {
	output, err := exec.Command("chattr", append([]string{change}, paths...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("chattr %s: %w: %s", change, err, output)
	}
	return nil
}
