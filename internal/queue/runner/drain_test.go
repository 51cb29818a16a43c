package runner

import (
	"testing"
	"testing/synctest"
	"time"
)

// A draining producer that waits for others' jobs looks soon at first, and less often in the course of time.
func TestDrainLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &producer{run: runOf(t, &endless{}, Config{Drain: true}, nil, nil)}
		for n, want := range map[int]time.Duration{0: drainFirst, 1: 2 * drainFirst, 3: 8 * drainFirst, 7: drainLast, 1000: drainLast} {
			for what, count := range map[string]*int{"looks": &p.emptyLooks, "cycles": &p.misses} {
				*count = n
				if got := p.nextLook(time.Time{}).Sub(p.store.Now()); got != want {
					t.Errorf("after %d %s in vain it sleeps for %v, not %v", n, what, got, want)
				}
				*count = 0
			}
		}
		soon := p.store.Now().Add(time.Millisecond)
		if got := p.nextLook(soon); !got.Equal(soon) {
			t.Errorf("a job that falls due at %v is waited for until %v", soon, got)
		}
		p.config.Drain = false
		if got := p.nextLook(time.Time{}); !got.IsZero() {
			t.Errorf("a worker that waits for notifications looks at %v", got)
		}
	})
}
