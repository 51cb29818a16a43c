//go:build unix

package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func gates(t *testing.T) (*gate, *gate) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	open := func() *gate {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		must(t, err)
		return newGate(file, func() time.Time { return time.Time{} })
	}
	a, b := open(), open()
	t.Cleanup(func() {
		a.close()
		b.close()
	})
	return a, b
}

// pass waits for a gate without a limit, and returns a function that unlocks it.
func pass(t *testing.T, g *gate) (open func()) {
	open, err := g.lock(context.Background())
	if err != nil {
		t.Error(err)
	}
	return open
}

func TestGateIsPassedInTurn(t *testing.T) {
	a, b := gates(t)
	var inside atomic.Int64
	done := make(chan int64)
	for _, g := range []*gate{a, b} {
		go func() {
			worst := int64(0)
			for range 500 {
				open := pass(t, g)
				worst = max(worst, inside.Add(1))
				inside.Add(-1)
				open()
			}
			done <- worst
		}()
	}
	for range 2 {
		if worst := receive(t, "the gate", done); worst != 1 {
			t.Errorf("%d passed the gate together", worst)
		}
	}
}

// TestCancelledAtTheGate: a write whose context ends while it waits for its turn among processes is not made.
func TestCancelledAtTheGate(t *testing.T) {
	store, client := queue(t)
	_, err := client.Enqueue(t.Context(), "first", []byte("{}")) // opens the gate's file
	must(t, err)
	file, err := os.OpenFile(filepath.Join(store.side.path, gateFile), os.O_RDWR, 0)
	must(t, err)
	other := newGate(file, func() time.Time { return time.Time{} })
	t.Cleanup(other.close)
	open := pass(t, other)
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan error, 1)
	go func() {
		_, err := client.Enqueue(ctx, "second", []byte("{}"))
		written <- err
	}()
	eventually(t, "the write waits for its turn", func() bool {
		return len(store.writer.turn) == 1 && queued(store) == 0
	})
	cancel()
	open()
	if err := receive(t, "the write's end", written); !errors.Is(err, context.Canceled) {
		t.Errorf("a write that was cancelled while it waited gives %v", err)
	}
	if n := scan[int](t, plain(t, store.path), "count_jobs"); n != 1 {
		t.Errorf("%d jobs are there, not 1", n)
	}
}

// A process that holds the gate may be stopped: others write without it, and in turn again when it continues.
func TestGateIsGivenUp(t *testing.T) {
	stopped, other := gates(t)
	open := pass(t, stopped)
	passed := make(chan struct{})
	go func() {
		pass(t, other)()
		pass(t, other)() // at once: an earlier wait still runs
		close(passed)
	}()
	receive(t, "the way past a gate that stays shut", passed)
	open()
	eventually(t, "the wait that was given up has ended", func() bool {
		other.mu.Lock()
		defer other.mu.Unlock()
		return !other.waiting
	})
	if err := stopped.flock(unix.LOCK_EX | unix.LOCK_NB); err != nil {
		t.Fatalf("the gate that came late was not opened again: %v", err)
	}
	must(t, stopped.flock(unix.LOCK_UN))
	open = pass(t, other)
	shut := make(chan func())
	go func() { shut <- pass(t, stopped) }()
	select {
	case <-shut:
		t.Error("the gate is open while it is held")
	default:
	}
	open()
	receive(t, "the gate", shut)()
}

// A writer does not skip the gate while others write: its turn comes.
func TestGateIsNotGivenUpWhileOthersWrite(t *testing.T) {
	holder, other := gates(t)
	looked := make(chan struct{}, 2*gateMost)
	var clock atomic.Int64
	other.written = func() time.Time {
		looked <- struct{}{}
		return time.Unix(clock.Add(1), 0)
	}
	open := pass(t, holder)
	passed := make(chan func())
	go func() { passed <- pass(t, other) }()
	for range 3 { // at the beginning, and after two waits
		receive(t, "a look at what others write", looked)
	}
	select {
	case <-passed:
		t.Fatal("a writer went past the gate while others wrote")
	default:
	}
	open()
	receive(t, "the gate", passed)()
	if other.waiting {
		t.Error("the wait was given up")
	}
}

func TestGateClosedWhileWaiting(t *testing.T) {
	stopped, other := gates(t)
	open := pass(t, stopped)
	pass(t, other)()
	other.close()
	open()
	pass(t, stopped)()
}
