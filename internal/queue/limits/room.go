package limits

import (
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// key names a limit key of a kind.
type key struct{ kind, key string }

// keylessCheck is the time after which a claim looks again at a limit for which jobs without a limit key count: their ends wake no lane.
const keylessCheck = int64(500 * time.Millisecond / time.Microsecond)

// Bounds holds the values of a limit, and the jobs and starts that it counts. Times and durations are in microseconds. A zero value is no bound.
type Bounds struct {
	Running, Starts, Period, Burst int64

	Active      int64 // jobs that run
	keyless     int64 // the number of these without a limit key
	PaidUntil   int64 // until then starts have used up the rate
	ClosedUntil int64 // no job starts before

	Ordered string // the jobs run in order, and what a failed one does to those behind it, as the column has it; empty: in any order
}

// OfKey returns the bounds of a key of a kind.
func OfKey(row db.ReadLimitsRow) Bounds {
	return Bounds{row.Running, row.Starts, row.Period, row.Burst, row.Active + row.Keyless, row.Keyless, row.PaidUntil, row.ClosedUntil, row.Ordered}
}

// OfWhole returns the bounds of a whole kind or queue.
func OfWhole(row db.ReadWholeLimitsRow) Bounds {
	active := row.Active
	if row.Scope == core.ScopeTotal {
		active += row.Keyless
	}
	return Bounds{row.Running, row.Starts, row.Period, row.Burst, active, row.Keyless, row.PaidUntil, 0, ""}
}

// IsFull reports whether as many jobs run as may.
func (b *Bounds) IsFull() bool { return b.Running > 0 && b.Active >= b.Running }

// TokensAt returns from when on the rate allows n starts; 0 without a rate.
func (b *Bounds) TokensAt(now, n int64) int64 {
	if b.interval() == 0 {
		return 0
	}
	return b.paid(now) - b.most() + n*b.interval()
}

// state holds a limit at a time, with the starts that a deal gives.
type state struct {
	Bounds
	weight  int64 // the largest number of starts of a lane in a round
	room    int64 // the number of jobs that may start now
	started int64

	first int64 // the job that must start first, if they run in order; 0: none can
	held  bool  // they run in order, none runs, and the first of them cannot start
}

// mostRoom stands for any number of starts.
const mostRoom = 1 << 40

// ofKey returns the state of a key at a time.
func ofKey(row db.ReadLimitsRow, now int64) *state {
	return newState(OfKey(row), max(1, row.Weight), now)
}

func newState(b Bounds, weight, now int64) *state {
	s := &state{Bounds: b, weight: weight, room: mostRoom}
	if s.ClosedUntil > now {
		s.room = 0
	}
	if s.Running > 0 {
		s.room = min(s.room, max(0, s.Running-s.Active))
	}
	if s.interval() > 0 {
		s.room = min(s.room, s.tokens(now))
	}
	return s
}

// interval returns the time that one start uses up; 0 without a rate. It is rounded up, so that the rate is never exceeded.
func (b *Bounds) interval() int64 {
	if b.Starts <= 0 || b.Period <= 0 {
		return 0
	}
	return (b.Period + b.Starts - 1) / b.Starts
}

// most returns the time that the starts of a full burst use up.
func (b *Bounds) most() int64 { return max(1, b.Burst) * b.interval() }

// paid returns until when earlier starts have used up the rate. A later time than a full burst gives is of a slower rate, or of a clock that
// was set back.
func (b *Bounds) paid(now int64) int64 { return min(max(b.PaidUntil, now), now+b.most()) }

// tokens returns the number of starts that the rate allows.
func (b *Bounds) tokens(now int64) int64 { return (now + b.most() - b.paid(now)) / b.interval() }

// has reports whether there is room for another job.
func (s *state) has() bool { return s.started < s.room }

// spend notes the starts that took place. It returns until when the rate is used up; 0 without a rate.
func (b *Bounds) spend(now, started int64) int64 {
	b.Active += started
	if b.interval() == 0 {
		return 0
	}
	b.PaidUntil = b.paid(now) + started*b.interval()
	return b.PaidUntil
}

// readyAt returns when a claim is to look again for room; nil: when a job has ended.
func (b *Bounds) readyAt(now int64) *int64 {
	at := max(now, b.ClosedUntil)
	switch {
	case b.IsFull() && b.keyless > 0:
		at = max(at, now+keylessCheck)
	case b.IsFull():
		return nil
	default:
		at = max(at, b.TokensAt(now, 1))
	}
	return &at
}
