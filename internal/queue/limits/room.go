package limits

import (
	"time"

	"github.com/sqluice/sqluice/db"
)

// key names a limit key of a kind.
type key struct{ kind, key string }

// The scopes of limits.
const (
	ScopeKind  = "kind"  // the jobs of each key of a kind, by itself
	ScopeTotal = "total" // all jobs of a kind together
	ScopeQueue = "queue" // all jobs of a queue together
)

// keylessCheck is the time after which a claim looks again at a limit for which jobs without a limit key count: their ends wake no lane.
const keylessCheck = int64(500 * time.Millisecond / time.Microsecond)

// bounds holds the values of a limit, and the jobs and starts that it counts. Times and durations are in microseconds. A zero value is no bound.
type bounds struct {
	running, starts, period, burst int64

	active      int64 // jobs that run
	keyless     int64 // the number of these without a limit key
	paidUntil   int64
	closedUntil int64
}

// state holds a limit at a time, with the starts that a deal gives.
type state struct {
	bounds
	weight  int64 // the largest number of starts of a lane in a round
	room    int64 // the number of jobs that may start now
	started int64
}

// mostRoom stands for any number of starts.
const mostRoom = 1 << 40

// ofKey returns the state of a key at a time.
func ofKey(row db.ReadLimitsRow, now int64) *state {
	return newState(bounds{
		row.Running, row.Starts, row.Period, row.Burst, row.Active + row.Keyless, row.Keyless, row.PaidUntil, row.ClosedUntil,
	}, max(1, row.Weight), now)
}

// ofWhole returns the state of the limit of a whole kind or queue at a time.
func ofWhole(row db.ReadWholeLimitsRow, now int64) *state {
	active := row.Active
	if row.Scope == ScopeTotal {
		active += row.Keyless
	}
	return newState(bounds{row.Running, row.Starts, row.Period, row.Burst, active, row.Keyless, row.PaidUntil, 0}, 1, now)
}

func newState(b bounds, weight, now int64) *state {
	s := &state{bounds: b, weight: weight, room: mostRoom}
	if s.closedUntil > now {
		s.room = 0
	}
	if s.running > 0 {
		s.room = min(s.room, max(0, s.running-s.active))
	}
	if s.interval() > 0 {
		s.room = min(s.room, s.tokens(now))
	}
	return s
}

// interval returns the time that one start uses up; 0 without a rate. It is rounded up, so that the rate is never exceeded.
func (b *bounds) interval() int64 {
	if b.starts <= 0 || b.period <= 0 {
		return 0
	}
	return (b.period + b.starts - 1) / b.starts
}

// most returns the time that the starts of a full burst use up.
func (b *bounds) most() int64 { return max(1, b.burst) * b.interval() }

// paid returns until when earlier starts have used up the rate. A later time than a full burst gives is of a slower rate, or of a clock that
// was set back.
func (b *bounds) paid(now int64) int64 { return min(max(b.paidUntil, now), now+b.most()) }

// tokens returns the number of starts that the rate allows.
func (b *bounds) tokens(now int64) int64 { return (now + b.most() - b.paid(now)) / b.interval() }

// has reports whether there is room for another job.
func (s *state) has() bool { return s.started < s.room }

// spend notes the starts that took place. It returns until when the rate is used up; 0 without a rate.
func (b *bounds) spend(now, started int64) int64 {
	b.active += started
	if b.interval() == 0 {
		return 0
	}
	b.paidUntil = b.paid(now) + started*b.interval()
	return b.paidUntil
}

// readyAt returns when a claim is to look again for room; nil: when a job has ended.
func (b *bounds) readyAt(now int64) *int64 {
	at := max(now, b.closedUntil)
	switch {
	case b.running > 0 && b.active >= b.running && b.keyless > 0:
		at = max(at, now+keylessCheck)
	case b.running > 0 && b.active >= b.running:
		return nil
	case b.interval() > 0 && b.tokens(now) == 0:
		at = max(at, b.paid(now)-b.most()+b.interval())
	}
	return &at
}
