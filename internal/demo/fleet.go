package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// patience is the time after which a worker that was asked to stop is killed.
const patience = 15 * time.Second

// fleet holds the demo's worker processes. One goroutine at a time may call its methods.
type fleet struct {
	demo    *demo
	exits   chan processExit
	running map[string]*process
}

type process struct {
	name   string
	cmd    *exec.Cmd
	cancel context.CancelFunc
	killed bool // by the demo, so its end is no fault
}

// processExit is the end of a process.
type processExit struct {
	process *process
	err     error
}

func newFleet(d *demo) *fleet {
	return &fleet{demo: d, exits: make(chan processExit), running: map[string]*process{}}
}

// start runs this program once more, as a worker.
func (f *fleet) start(ctx context.Context, name string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cmd := exec.CommandContext(ctx, self, workerCommand, "-temp", f.demo.temp, "-folder", f.demo.folder,
		"-name", name, "-slots", strconv.Itoa(f.demo.slots))
	cmd.Stderr = f.demo.errors
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		cancel()
		return fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, cancel: cancel}
	f.running[name] = p
	go func() { f.exits <- processExit{p, cmd.Wait()} }()
	return nil
}

func (f *fleet) alive() int { return len(f.running) }

// byPID returns the running worker with a process id, or nil.
func (f *fleet) byPID(pid int) *process {
	for _, p := range f.running {
		if p.cmd.Process.Pid == pid {
			return p
		}
	}
	return nil
}

// ended removes a process from the list; the error is its own, unless the demo killed it.
func (f *fleet) ended(e processExit) error {
	e.process.cancel()
	delete(f.running, e.process.name)
	if e.err != nil && !e.process.killed {
		return fmt.Errorf("%s: %w", e.process.name, e.err)
	}
	return nil
}

// stop asks all running workers to stop and waits for them.
func (f *fleet) stop() error {
	for _, p := range f.running {
		p.cancel()
	}
	var faults []error
	for f.alive() > 0 {
		e := <-f.exits
		// Wait also returns an error for a worker that stopped cleanly on request.
		if errors.Is(e.err, context.Canceled) {
			e.err = nil
		}
		faults = append(faults, f.ended(e))
	}
	return errors.Join(faults...)
}
