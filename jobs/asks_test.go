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
