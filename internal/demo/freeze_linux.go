package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// freeze stops a process without its knowledge, and returns when all its threads have stopped: a signal alone returns before that.
func freeze(p *os.Process) error {
	if err := p.Signal(unix.SIGSTOP); err != nil {
		return err
	}
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.ECHILD): // it has ended meanwhile
			return os.ErrProcessDone
		case !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait until it has stopped: %w", err)
		}
	}
}

func thaw(p *os.Process) error { return p.Signal(unix.SIGCONT) }
