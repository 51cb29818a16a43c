package main

import (
	"errors"
	"log/slog"
	"os/exec"
	"runtime"
)

// starter starts all programs from one operating-system thread, which lives until close. Linux sends a child the signal of its
// parent's death when the thread that started it ends, and Go ends threads at any time. Locking a thread for each program
// would keep that thread for as long as the program runs.
type starter struct {
	guard    *guard
	requests chan startRequest
	closed   chan struct{}
}

type startRequest struct {
	cmd    *exec.Cmd
	result chan error
}

func newStarter(log *slog.Logger) *starter {
	s := &starter{guard: &guard{log: log}, requests: make(chan startRequest), closed: make(chan struct{})}
	go s.serve()
	return s
}

func (s *starter) serve() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		select {
		case r := <-s.requests:
			r.result <- r.cmd.Start()
		case <-s.closed:
			return
		}
	}
}

// start starts a program in its own process group, and has that guarded until ended is called.
func (s *starter) start(cmd *exec.Cmd) (ended func(), err error) {
	isolate(cmd)
	s.guard.startOnce()
	r := startRequest{cmd, make(chan error, 1)}
	select {
	case s.requests <- r:
		if err := <-r.result; err != nil {
			return nil, err
		}
		return s.guard.addGroup(cmd.Process.Pid), nil
	case <-s.closed:
		return nil, errors.New("the worker has ended")
	}
}

func (s *starter) close() {
	close(s.closed)
	s.guard.close()
}
