//go:build unix

package sqlite

import (
	"path/filepath"
	"testing"
)

func gates(t *testing.T) (*gate, *gate) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	a, err := newGate(path)
	must(t, err)
	b, err := newGate(path)
	must(t, err)
	t.Cleanup(func() {
		a.close()
		b.close()
	})
	return a, b
}

func TestGateIsPassedInTurn(t *testing.T) {
	a, b := gates(t)
	inside := 0 // guarded by the gate: the race detector and the count both tell
	done := make(chan int)
	for _, g := range []*gate{a, b} {
		go func() {
			worst := 0
			for range 500 {
				open := g.lock()
				inside++
				worst = max(worst, inside)
				inside--
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

// A process that holds the gate may be stopped: others go without, and pass in turn again when it goes on.
func TestGateIsGivenUp(t *testing.T) {
	stopped, other := gates(t)
	open := stopped.lock()
	passed := make(chan struct{})
	go func() {
		other.lock()()
		other.lock()() // at once: a wait goes on
		close(passed)
	}()
	receive(t, "the way past a gate that stays shut", passed)
	open()
	eventually(t, "the wait that was given up has ended", func() bool {
		other.mu.Lock()
		defer other.mu.Unlock()
		return !other.waiting
	})
	open = other.lock()
	shut := make(chan func())
	go func() { shut <- stopped.lock() }()
	select {
	case <-shut:
		t.Error("the gate is open while it is held")
	default:
	}
	open()
	receive(t, "the gate", shut)()
}

func TestGateClosedWhileWaiting(t *testing.T) {
	stopped, other := gates(t)
	open := stopped.lock()
	other.lock()()
	other.close()
	open()
	stopped.lock()()
}
