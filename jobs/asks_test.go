package jobs

import (
	"testing"
	"testing/synctest"
	"time"
)

// A turn asks for what falls due where something may, and where that is not known well any more.
func TestAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &splitting{}
		p := &pump{session: &session{store: store}}
		check := func(when string, want bool) {
			t.Helper()
			if p.asks() != want {
				t.Errorf("%s: it asks: %t", when, !want)
			}
		}
		check("at first", true)
		p.asked(time.Time{})
		check("after a look that found nothing scheduled", false)
		p.unasked = askEvery - 1
		check("after some turns", false)
		p.unasked++
		check("after more", true)
		p.asked(store.Now().Add(time.Millisecond))
		check("before a job falls due", false)
		time.Sleep(time.Millisecond)
		check("when it does", true)
		p.asked(time.Time{})
		p.behind = true
		check("when there were more than it promoted", true)
		p.behind = false
		check("when there were not", false)
		time.Sleep(askWithin)
		check("after a while", true)
	})
}

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
