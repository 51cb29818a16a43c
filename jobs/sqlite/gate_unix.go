//go:build unix

package sqlite

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// gateWait is how long a writer waits at the gate before it goes without: the process that holds it may be stopped.
const gateWait = time.Second

// gate lets the processes of one database write in turn, by an exclusive lock on a small file. It is there for
// fairness only: SQLite's own lock keeps writes apart, but those who wait for that one sleep and poll, so that some
// wait for seconds while one process writes on and on. flock's queue is the kernel's and wakes the next at once.
type gate struct {
	file *os.File

	mu      sync.Mutex
	waiting bool // a wait that was given up has not ended yet
}

func newGate(path string) (*gate, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	return &gate{file: file}, nil
}

// lock waits for the gate, but not for ever, and returns what opens it again.
func (g *gate) lock() (unlock func()) {
	fd := int(g.file.Fd())
	unlock = func() { _ = unix.Flock(fd, unix.LOCK_UN) } // cannot fail on a lock that is held
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting {
		return func() {}
	}
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
		return unlock
	}

	got := make(chan bool, 1)
	go func() {
		got <- retryInterrupted(func() error { return unix.Flock(fd, unix.LOCK_EX) }) == nil
	}()
	timer := time.NewTimer(gateWait)
	defer timer.Stop()
	select {
	case ok := <-got:
		if ok {
			return unlock
		}
	case <-timer.C:
		g.waiting = true
		go func() {
			if <-got {
				unlock()
			}
			g.mu.Lock()
			g.waiting = false
			g.mu.Unlock()
		}()
	}
	return func() {}
}

func retryInterrupted(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func (g *gate) close() { _ = g.file.Close() }
