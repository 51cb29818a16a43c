package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// The clocks of machines that keep time with each other differ by less; then the local one is as good, and it is the
	// same for all processes of a machine.
	sameClock = time.Millisecond

	// sampleFor is how long a precise measurement of the difference is better than later ones that are less precise.
	sampleFor = 10 * time.Second

	// sampleEvery is how old a measurement may become in a process that makes no other use of the store's pool, as one that
	// only adds jobs in transactions of its own.
	sampleEvery = time.Minute
)

// clock is the server's clock as far as this process knows it: the local one and the difference that was measured last.
type clock struct {
	local func() time.Time

	mu    sync.Mutex
	ahead time.Duration // of the server
	error time.Duration // half the time that the measurement took
	taken time.Time
	asked time.Time // when the server was last asked because of the age of the measurement
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.local().Add(c.ahead).Truncate(time.Microsecond)
}

// known reports whether the difference was ever measured.
func (c *clock) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.taken.IsZero()
}

// old reports whether the last measurement is to be followed by another: once in a while, whatever comes of that.
func (c *clock) old() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.local()
	if now.Sub(c.taken).Abs() < sampleEvery || now.Sub(c.asked).Abs() < sampleEvery {
		return false
	}
	c.asked = now
	return true
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

// Now is the server's clock as far as it is known. The first call asks for it when nothing else has, because the first
// job that a program adds must have the right time too. While the server cannot be reached it is the local clock. Later
// ones go by what is known, and have it measured anew when that is old.
func (s *Store) Now() time.Time {
	switch {
	case !s.clock.known():
		s.askClock(context.Background())
	case s.clock.old():
		s.hub.run(func() { s.askClock(s.hub.ctx) })
	}
	return s.clock.now()
}

// askClock uses a connection of its own: those of the pool may all be held by transactions, among them the caller's.
func (s *Store) askClock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := s.measureClock(ctx); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		s.options.logger.Debug("the server's clock is not known", "error", translate(err))
	}
}

func (s *Store) measureClock(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	var server int64
	sent := s.clock.local()
	err = conn.QueryRow(ctx, control("server_time"), pgx.QueryExecModeExec).Scan(&server)
	if err == nil {
		s.clock.sample(server, sent, s.clock.local())
	}
	return errors.Join(err, conn.Close(ctx))
}
