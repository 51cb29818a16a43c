package callback

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const hang = time.Minute

// flush fails the test when the queue does not finish in time.
func flush(t *testing.T, q *Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	if err := q.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// The functions after one that panics, or ends its goroutine, are still called, in their order.
func TestQueueGoesOn(t *testing.T) {
	var faults []error
	q := NewQueue(100, func(err error) { faults = append(faults, err) })
	var called []int
	for i := range 6 {
		q.Add(func() {
			called = append(called, i)
			switch i {
			case 1:
				panic("broken")
			case 3:
				runtime.Goexit()
			}
		})
	}
	flush(t, q)
	if want := []int{0, 1, 2, 3, 4, 5}; !slices.Equal(called, want) {
		t.Errorf("called %v, not %v", called, want)
	}
	if len(faults) != 1 || !strings.Contains(faults[0].Error(), "panic: broken") {
		t.Errorf("the reports are %v, not one of the panic: the next comes 30 seconds later", faults)
	}
	if q.suppressed != 1 {
		t.Errorf("%d faults are kept for the next report, not 1", q.suppressed)
	}
}

// A report may fail as well.
func TestQueueWhoseReportFails(t *testing.T) {
	for name, report := range map[string]func(error){
		"panic": func(error) { panic("broken") }, "Goexit": func(error) { runtime.Goexit() },
	} {
		q := NewQueue(100, report)
		q.Add(func() { panic("broken") })
		called := false
		q.Add(func() { called = true })
		flush(t, q)
		if !called {
			t.Errorf("nothing is called after a report that ends by %s", name)
		}
	}
}

// A function that blocks blocks no caller; functions beyond the limit are dropped, and the report says so.
func TestQueueThatIsBlocked(t *testing.T) {
	var faults []error
	q := NewQueue(10, func(err error) { faults = append(faults, err) })
	blocked, release := make(chan struct{}), make(chan struct{})
	q.Add(func() {
		close(blocked)
		<-release
	})
	<-blocked
	called := 0
	for range 25 {
		q.Add(func() { called++ })
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Flush(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Flush gives %v", err)
	}
	close(release)
	flush(t, q)
	flush(t, q)
	if called != 10 {
		t.Errorf("%d functions were called, not 10", called)
	}
	if len(faults) != 1 || !strings.Contains(faults[0].Error(), "15 calls were dropped") {
		t.Errorf("the reports are %v", faults)
	}
}

// A queue without work leaves no goroutine.
func TestQueueWithoutWork(t *testing.T) {
	q := NewQueue(10, func(error) {})
	for range 3 {
		q.Add(func() {})
		flush(t, q)
	}
	for deadline := time.Now().Add(hang); ; {
		q.mu.Lock()
		running := q.running
		q.mu.Unlock()
		if !running {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the goroutine of an idle queue does not end")
		}
		runtime.Gosched()
	}
}
