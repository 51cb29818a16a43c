package runner

import "time"

const (
	// alarmEarly is how much earlier the timer is set than asked: timers of an idle process are up to a millisecond
	// late. The rest is slept precisely.
	alarmEarly = 1200 * time.Microsecond

	// alarmMost is the longest time the alarm trusts the clock for: it may be set in the meantime.
	alarmMost = 30 * time.Second
)

// alarm rings at a time of a clock.
type alarm struct {
	now   func() time.Time
	ring  chan struct{}
	timer *time.Timer
}

func newAlarm(now func() time.Time) *alarm { return &alarm{now: now, ring: make(chan struct{}, 1)} }

// set makes the alarm ring at t, or not at all when t is zero, in place of what was set before. It may ring early.
func (a *alarm) set(t time.Time) {
	a.stop()
	if t.IsZero() {
		return
	}
	wait := t.Sub(a.now())
	if wait > alarmMost {
		wait = alarmMost
	}
	ring, now := a.ring, a.now
	a.timer = time.AfterFunc(max(0, wait-alarmEarly), func() {
		if rest := t.Sub(now()); rest > 0 && rest < 2*alarmEarly {
			preciseSleep(rest)
		}
		select {
		case ring <- struct{}{}:
		default: // it rings already
		}
	})
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
