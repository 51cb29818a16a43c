package postgres

import (
	"sync"
	"time"
)

const (
	// The clocks of synchronised machines differ by less than sameClock; then the local clock is as good, and it is the
	// same for all processes of a machine.
	sameClock = time.Millisecond

	// sampleFor is the time for which a precise measurement of the difference is preferred to later, less precise ones.
	sampleFor = 10 * time.Second

	// sampleEvery is the greatest age of a measurement in a process that does not use the store's pool otherwise, such as
	// one that only adds jobs in its own transactions.
	sampleEvery = time.Minute

	// stepLeast is the smallest difference between the local and the monotonic clock that counts as a step. The two are read
	// one after the other, and a busy machine may pause between the reads.
	stepLeast = time.Second
)

// clock estimates the server's clock: it holds the local clock and the difference that was measured last.
type clock struct {
	local     func() time.Time
	monotonic func() time.Time // a clock that cannot be set

	mu    sync.Mutex
	ahead time.Duration // the lead of the server's clock over the local one
	error time.Duration // half the time that the measurement took
	taken instant
	asked time.Time // when the server was last asked because of the age of the measurement
}

// instant is a moment by the local clock and by the monotonic one: if their difference changes, the local clock was set,
// or the machine slept.
type instant struct{ local, monotonic time.Time }

func (c *clock) instant() instant { return instant{c.local().Round(0), c.monotonic()} }

// step returns the time by which the local clock was set since an earlier instant; 0 if less than reading both may take.
func (i instant) step(since instant) time.Duration {
	step := i.local.Sub(since.local) - i.monotonic.Sub(since.monotonic)
	if step.Abs() < stepLeast {
		return 0
	}
	return step
}

// now returns the estimated time and reports, once, whether the local clock was set since the last measurement. It
// corrects the known difference for that step, so that it is usable while the server cannot be asked.
func (c *clock) now() (now time.Time, stepped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.instant()
	if step := i.step(c.taken); step != 0 && !c.taken.local.IsZero() {
		c.ahead, c.taken, stepped = c.ahead-step, i, true
	}
	return i.local.Add(c.ahead).Truncate(time.Microsecond), stepped
}

// known reports whether the difference was ever measured.
func (c *clock) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.taken.local.IsZero()
}

// old reports whether the caller must measure again. It returns true at most once per sampleEvery, even if a measurement
// fails.
func (c *clock) old() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.monotonic()
	if now.Sub(c.taken.monotonic) < sampleEvery || now.Sub(c.asked) < sampleEvery {
		return false
	}
	c.asked = now
	return true
}

// sample records the server's time, which the server read between sent and received.
func (c *clock) sample(server int64, sent, received instant) {
	if received.step(sent) != 0 {
		return // the local clock was set meanwhile: the sample is worthless
	}
	spent := received.monotonic.Sub(sent.monotonic)
	ahead := time.UnixMicro(server).Sub(sent.local.Add(spent / 2))
	c.mu.Lock()
	defer c.mu.Unlock()
	stepped := (ahead - c.ahead).Abs() > spent/2+c.error+sameClock
	if !stepped && spent/2 > c.error && received.monotonic.Sub(c.taken.monotonic) < sampleFor && !c.taken.local.IsZero() {
		return
	}
	c.error, c.taken = spent/2, received
	c.ahead = ahead
	if ahead.Abs() < sameClock+spent/2 {
		c.ahead = 0
	}
}
