package maintenance

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
)

// clocked is a store that only has a clock.
type clocked struct {
	engine.Store
	now func() time.Time
}

func (c clocked) Now() time.Time { return c.now() }

// A scheduler that looks every second has looked all the time. One that stood still, could not reach the database, or whose clock was
// set has not: ticks of that time count as missed.
func TestWhatASchedulerHasWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set time.Duration
		k := &watch{store: clocked{now: func() time.Time { return time.Now().Add(set) }}}
		look := func(succeeds bool) (since time.Time) {
			t.Helper()
			w, looked := k.begin()
			if succeeds {
				looked()
			}
			return w.Since
		}
		began := look(true)
		for range 30 {
			time.Sleep(time.Second)
			if since := look(true); !since.Equal(began) {
				t.Fatalf("it has looked each second since %v, and says %v", began, since)
			}
		}
		for name, interrupt := range map[string]func(){
			"stood still": func() { time.Sleep(11 * time.Second) },
			"an outage": func() {
				for range 11 {
					time.Sleep(time.Second)
					look(false)
				}
			},
			"a clock set forward": func() { set += time.Hour },
			"a clock set back":    func() { set -= time.Hour },
		} {
			before := look(true)
			interrupt()
			if since := look(true); since.Equal(before) {
				t.Errorf("%s: it says that it has looked since %v", name, since)
			}
			time.Sleep(time.Second)
			after := look(true)
			time.Sleep(5 * time.Second)
			if since := look(true); !since.Equal(after) {
				t.Errorf("%s: five seconds later it says %v, not %v", name, since, after)
			}
		}
		before := look(true)
		time.Sleep(5 * time.Second)
		look(false) // one look that fails is no outage
		time.Sleep(time.Second)
		if since := look(true); !since.Equal(before) {
			t.Errorf("after a look that failed it says %v, not %v", since, before)
		}
	})
}
