package callback

import (
	"sync/atomic"
	"time"
)

// clockWithin is how long a clock may take for an answer.
const clockWithin = time.Second

// Clock returns a function that asks a clock of the application for the time. When the clock panics, calls
// runtime.Goexit or takes longer than a second, the answer is the system's time plus the last known difference. While
// the clock takes longer, it is not asked again and no caller waits.
func Clock(now func() time.Time) func() time.Time {
	c := &clock{now: now}
	return c.read
}

type clock struct {
	now   func() time.Time
	ahead atomic.Int64 // of the system's clock when the last answer came
	late  atomic.Int64 // calls that have not returned in time and still go on
}

func (c *clock) read() time.Time {
	if c.late.Load() == 0 {
		var state atomic.Int32 // of this call: 1 when it returned, 2 when the caller did not wait for it
		t, ok := Within(clockWithin, func() time.Time {
			defer func() {
				if !state.CompareAndSwap(0, 1) {
					c.late.Add(-1)
				}
			}()
			return c.now()
		})
		if ok {
			c.ahead.Store(int64(time.Until(t)))
			return t
		}
		c.late.Add(1)
		if !state.CompareAndSwap(0, 2) {
			c.late.Add(-1)
		}
	}
	return time.Now().Add(time.Duration(c.ahead.Load()))
}
