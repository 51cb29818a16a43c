package clock

import "time"

const (
	// early is the time by which the timer is set earlier than asked: timers of an idle process are up to a millisecond late.
	// The rest is slept precisely.
	early = 1200 * time.Microsecond

	// trusted is the longest time for which the alarm trusts the clock, because the clock may be set in the meantime.
	trusted = 30 * time.Second
)

// Alarm sends a value to a channel at a time of a clock. One goroutine uses it.
type Alarm struct {
	now   func() time.Time
	ring  chan struct{}
	timer *time.Timer
}

// NewAlarm returns an alarm that is not set, by the clock now.
func NewAlarm(now func() time.Time) *Alarm { return &Alarm{now: now, ring: make(chan struct{}, 1)} }

// Ring returns the channel that gets a value at the time of Set.
func (a *Alarm) Ring() <-chan struct{} { return a.ring }

// Set makes the alarm ring at t, or not at all when t is zero, in place of its earlier time. It may ring early.
func (a *Alarm) Set(t time.Time) {
	a.Stop()
	if t.IsZero() {
		return
	}
	wait := min(t.Sub(a.now()), trusted)
	ring, now := a.ring, a.now
	a.timer = time.AfterFunc(max(0, wait-early), func() {
		if rest := t.Sub(now()); rest > 0 && rest < 2*early {
			preciseSleep(rest)
			if t.Sub(now()) == rest { // only Go's timers move this clock, as in a bubble of package synctest
				time.Sleep(rest)
			}
		}
		select {
		case ring <- struct{}{}:
		default: // it rings already
		}
	})
}

// Stop keeps the alarm from ringing, unless it is ringing already.
func (a *Alarm) Stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
