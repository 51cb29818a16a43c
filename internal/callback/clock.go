package callback

import (
	"sync"
	"time"
)

// clockWithin is the longest time for the answer of a clock.
const clockWithin = time.Second

// Clock returns a function that asks a clock of the application for the time. When the clock panics, calls
// runtime.Goexit or takes longer than a second, the answer is the system's time plus the last known difference. While
// the clock takes longer, it is not asked again and no caller waits.
func Clock(now func() time.Time) func() time.Time {
	c := &clock{now: now}
	return c.read
}

type clock struct {
	now func() time.Time

	mu    sync.Mutex
	ahead time.Duration // of the system's clock when the last answer came
	late  int           // calls that have not returned in time and still go on
}

func (c *clock) read() time.Time {
	if t, ok := c.ask(); ok {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// ask returns the clock's answer. ok is false when it has none in time, or when an earlier call still goes on.
func (c *clock) ask() (t time.Time, ok bool) {
	if c.isLate() {
		return time.Time{}, false
	}
	returned, left := false, false // whether the call has returned, and its caller had left before; guarded by mu
	t, ok = Within(clockWithin, func() time.Time {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if returned = true; left {
				c.late--
			}
		}()
		return c.now()
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ok:
		c.ahead = time.Until(t)
	case !returned:
		left = true
		c.late++
	}
	return t, ok
}

func (c *clock) isLate() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.late > 0
}
