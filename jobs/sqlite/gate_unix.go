//go:build unix

package sqlite

import (
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sqluice/sqluice/internal/queue/core"
)

const (
	// gatePatience is the time that a writer waits at the gate, while no process writes, before it writes without the
	// gate: the process that holds it may be stopped.
	gatePatience = 3 * time.Second

	// gateMost is the largest number of such waits while others do write: with a dozen processes on a slow disk a
	// writer's turn comes late, but it comes, unlike with SQLite's own lock.
	gateMost = 10
)

// gate lets the processes of one database write in turn, by an exclusive lock on a small file. It is only for fairness:
// SQLite's own lock serialises writes, but its waiters sleep and poll, so that some wait for seconds while one process
// writes continuously. flock's queue is the kernel's and wakes the next waiter at once.
type gate struct {
	file    *os.File
	written func() time.Time // returns the time of the last write of any process

	mu      sync.Mutex
	waiting bool      // an abandoned wait has not ended yet
	pending *gateWait // a wait whose caller left; the next caller continues it
}

// gateWait is one wait for the kernel's lock, which one caller may leave to the next.
type gateWait struct {
	done   chan struct{} // closed when flock has returned
	ok     bool          // the lock was taken; set before done is closed
	looked time.Time     // time of the last check for writes of others
	last   time.Time     // time of the last write seen by that check
	looks  int
}

func newGate(file *os.File, written func() time.Time) *gate {
	return &gate{file: file, written: written}
}

// lock waits for the gate, but not for ever, and returns a function that unlocks it. The error is that of ctx if ctx ends
// first. A nil gate is always open.
func (g *gate) lock(ctx context.Context) (unlock func(), err error) {
	pass := func() {}
	if g == nil {
		return pass, nil
	}
	unlock = func() { _ = g.flock(unix.LOCK_UN) } // cannot fail on a lock that is held
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting {
		return pass, nil
	}
	w := g.pending
	if g.pending = nil; w == nil {
		if g.flock(unix.LOCK_EX|unix.LOCK_NB) == nil {
			return unlock, nil
		}
		w = g.wait()
	}
	answered, err := g.await(ctx, w)
	switch {
	case answered && w.ok:
		return unlock, nil
	case answered:
	case err != nil:
		g.pending = w
		go g.dropPending(w, unlock)
	default:
		g.waiting = true
		go g.endWaiting(w, unlock)
	}
	return pass, err
}

// wait starts a wait for the lock.
func (g *gate) wait() *gateWait {
	w := &gateWait{done: make(chan struct{}), looked: time.Now(), last: g.written()}
	go func() {
		w.ok = g.flock(unix.LOCK_EX) == nil
		close(w.done)
	}()
	return w
}

// await waits until flock returns, until it is time to write without the gate, or until ctx ends.
func (g *gate) await(ctx context.Context, w *gateWait) (answered bool, err error) {
	for w.looks < gateMost {
		timer := time.NewTimer(time.Until(w.looked.Add(gatePatience)))
		select {
		case <-w.done:
			timer.Stop()
			return true, nil
		case <-ctx.Done():
			timer.Stop()
			return false, core.EndOf(ctx)
		case <-timer.C:
		}
		now := g.written()
		if now.Equal(w.last) {
			break
		}
		w.looked, w.last = time.Now(), now
		w.looks++
	}
	return false, nil
}

// dropPending unlocks the gate when a pending wait ends that no caller has continued.
func (g *gate) dropPending(w *gateWait, unlock func()) {
	<-w.done
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pending != w {
		return
	}
	if g.pending = nil; w.ok {
		unlock()
	}
}

// endWaiting unlocks the gate when an abandoned wait ends; until then writes go without the gate.
func (g *gate) endWaiting(w *gateWait, unlock func()) {
	<-w.done
	if w.ok {
		unlock()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = false
}

func (g *gate) flock(how int) error { return flock(g.file, how) }

func (g *gate) close() {
	if g != nil {
		_ = g.file.Close()
	}
}
