package runner

import (
	"testing"
	"testing/synctest"
	"time"
)

// A draining loop that waits for others' jobs looks soon at first, and then at growing intervals.
func TestDrainLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := runOf(t, &endless{}, Config{Drain: true}, nil, nil).newLoop()
		for n, want := range map[int]time.Duration{0: drainFirst, 1: 2 * drainFirst, 3: 8 * drainFirst, 7: drainLast, 1000: drainLast} {
			for what, count := range map[string]*int{"looks": &l.lookout.emptyLooks, "cycles": &l.lookout.misses} {
				*count = n
				if got := l.lookout.nextLook(time.Time{}).Sub(l.env.store.Now()); got != want {
					t.Errorf("after %d %s in vain it sleeps for %v, not %v", n, what, got, want)
				}
				*count = 0
			}
		}
		soon := l.env.store.Now().Add(time.Millisecond)
		if got := l.lookout.nextLook(soon); !got.Equal(soon) {
			t.Errorf("a job that falls due at %v is waited for until %v", soon, got)
		}
		l.env.config.Drain = false
		if got := l.lookout.nextLook(time.Time{}); !got.IsZero() {
			t.Errorf("a worker that waits for notifications looks at %v", got)
		}
	})
}
