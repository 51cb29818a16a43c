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

	// stepLeast is from when on a difference between the local clock and the monotonic one counts as a step. They are read one
	// after the other, and a busy machine may do something else in between.
	stepLeast = time.Second
)

// clock is the server's clock as far as this process knows it: the local one and the difference that was measured last.
type clock struct {
	local     func() time.Time
	monotonic func() time.Time // a clock that cannot be set

	mu    sync.Mutex
	ahead time.Duration // of the server
	error time.Duration // half the time that the measurement took
	taken instant
	asked time.Time // when the server was last asked because of the age of the measurement
}

// instant is a moment by the local clock and by the monotonic one: a difference of these that changes tells that the local
// one was set, or that the machine slept.
type instant struct{ local, monotonic time.Time }

func (c *clock) instant() instant { return instant{c.local().Round(0), c.monotonic()} }

// step is by how much the local clock was set since another instant; 0 when that is less than what reading both may take.
func (i instant) step(since instant) time.Duration {
	step := i.local.Sub(since.local) - i.monotonic.Sub(since.monotonic)
	if step.Abs() < stepLeast {
		return 0
	}
	return step
}

// now also reports, once, whether the local clock was set since the last measurement. What is known then is moved as for a
// clock that was set, so that it serves where the server cannot be asked.
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

// old reports whether the caller must measure again. It returns true at most once per sampleEvery, also when a measurement
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

// sample takes the server's time as it was between sent and received.
func (c *clock) sample(server int64, sent, received instant) {
	if received.step(sent) != 0 {
		return // it says nothing of the local clock as it is now
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

// Now is the server's clock as far as it is known. The first call asks for it when nothing else has, because the first
// job that a program adds must have the right time too. While the server cannot be reached it is the local clock. Later
// ones go by what is known, and have it measured anew when that is old, or at once when the local clock was set.
func (s *backend) Now() time.Time { return s.NowWithin(context.Background()) }

// NowWithin is Now, which asks no longer than until ctx ends.
func (s *backend) NowWithin(ctx context.Context) time.Time {
	now, stepped := s.conns.clock.now()
	switch {
	case stepped, !s.conns.clock.known():
		sessions{s.conns}.askClock(ctx)
		now, _ = s.conns.clock.now()
	case s.conns.clock.old():
		s.hub.run(func() { sessions{s.conns}.askClock(s.hub.ctx) })
	}
	return now
}

// askClock uses a connection of its own: those of the pool may all be held by transactions, among them the caller's.
func (s sessions) askClock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := s.measureClock(ctx); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		s.conns.options.logger.Debug("the server's clock is not known", "error", translate(err))
	}
}

func (s sessions) measureClock(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	var server int64
	sent := s.conns.clock.instant()
	err = conn.QueryRow(ctx, control("server_time"), pgx.QueryExecModeExec).Scan(&server)
	if err == nil {
		s.conns.clock.sample(server, sent, s.conns.clock.instant())
	}
	return errors.Join(err, conn.Close(ctx))
}
