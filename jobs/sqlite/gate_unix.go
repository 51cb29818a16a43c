//go:build unix

package sqlite

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// gateWait is how long a writer waits at the gate, while nothing is written, before it goes without: the process
	// that holds it may be stopped.
	gateWait = 3 * time.Second

	// gateMost is how many times gateWait it waits while others do write: with a dozen processes on a slow disk its
	// turn comes late, but it comes, which is more than SQLite's own lock can say.
	gateMost = 10
)

// gate lets the processes of one database write in turn, by an exclusive lock on a small file. It is there for
// fairness only: SQLite's own lock keeps writes apart, but those who wait for that one sleep and poll, so that some
// wait for seconds while one process writes on and on. flock's queue is the kernel's and wakes the next at once.
type gate struct {
	file    *os.File
	written func() time.Time // returns when any process last wrote to the database

	mu      sync.Mutex
	waiting bool // a wait that was given up has not ended yet
}

func newGate(file *os.File, written func() time.Time) *gate {
	return &gate{file: file, written: written}
}

// lock waits for the gate, but not for ever, and returns what opens it again. No gate (nil) is an open one.
func (g *gate) lock() func() {
	if g == nil {
		return func() {}
	}
	unlock := func() { _ = g.flock(unix.LOCK_UN) } // cannot fail on a lock that is held
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting {
		return func() {}
	}
	if g.flock(unix.LOCK_EX|unix.LOCK_NB) == nil {
		return unlock
	}

	got := make(chan bool, 1)
	go func() {
		got <- g.flock(unix.LOCK_EX) == nil
	}()
	timer := time.NewTicker(gateWait)
	defer timer.Stop()
	last := g.written()
	for range gateMost {
		select {
		case ok := <-got:
			if ok {
				return unlock
			}
			return func() {}
		case <-timer.C:
		}
		now := g.written()
		if now.Equal(last) {
			break
		}
		last = now
	}
	g.waiting = true
	go func() {
		if <-got {
			unlock()
		}
		g.mu.Lock()
		g.waiting = false
		g.mu.Unlock()
	}()
	return func() {}
}

func (g *gate) flock(how int) error { return flock(g.file, how) }

func (g *gate) close() {
	if g != nil {
		_ = g.file.Close()
	}
}
