package postgres

import (
	"sync"
	"time"
)

const (
	// The clocks of machines that keep time with each other differ by less; then the local one is as good, and it is the
	// same for all processes of a machine.
	sameClock = time.Millisecond

	// sampleFor is how long a precise measurement of the difference is better than later ones that are less precise.
	sampleFor = 10 * time.Second
)

// clock is the server's clock as far as this process knows it: the local one and the difference that was measured last.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration // of the server
	error time.Duration // half the time that the measurement took
	taken time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead).Truncate(time.Microsecond)
}

// sample takes the server's time as it was between sent and received.
func (c *clock) sample(server int64, sent, received time.Time) {
	spent := received.Sub(sent)
	ahead := time.UnixMicro(server).Sub(sent.Add(spent / 2).Round(0))
	c.mu.Lock()
	defer c.mu.Unlock()
	stepped := (ahead - c.ahead).Abs() > spent/2+c.error+sameClock
	if !stepped && spent/2 > c.error && received.Sub(c.taken) < sampleFor && !c.taken.IsZero() {
		return
	}
	c.error, c.taken = spent/2, received
	c.ahead = ahead
	if ahead.Abs() < sameClock+spent/2 {
		c.ahead = 0
	}
}
