package jobs

import (
	"testing"
	"testing/synctest"
	"time"
)

// A draining pump that waits for others' jobs looks soon at first, and less often in the course of time.
func TestDrainLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pump{session: &session{store: &splitting{}, drain: true}}
		for n, want := range map[int]time.Duration{0: drainFirst, 1: 2 * drainFirst, 3: 8 * drainFirst, 7: drainLast, 1000: drainLast} {
			for what, count := range map[string]*int{"looks": &p.vain, "turns": &p.misses} {
				*count = n
				if got := p.sleep(time.Time{}).Sub(p.store.Now()); got != want {
					t.Errorf("after %d %s in vain it sleeps for %v, not %v", n, what, got, want)
				}
				*count = 0
			}
		}
		soon := p.store.Now().Add(time.Millisecond)
		if got := p.sleep(soon); !got.Equal(soon) {
			t.Errorf("a job that falls due at %v is waited for until %v", soon, got)
		}
		p.drain = false
		if got := p.sleep(time.Time{}); !got.IsZero() {
			t.Errorf("a worker that waits for news looks at %v", got)
		}
	})
}
