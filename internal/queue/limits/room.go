package limits

import "github.com/sqluice/sqluice/db"

// key names a limit key of a kind.
type key struct{ kind, key string }

// state holds the limit of a key, and the jobs and starts that it counts. Times and durations are in microseconds.
type state struct {
	db.ReadLimitsRow
	room    int64 // how many jobs may start now
	started int64
}

// mostRoom stands for any number of starts.
const mostRoom = 1 << 40

// newState returns the state of a key at a time.
func newState(row db.ReadLimitsRow, now int64) *state {
	s := &state{ReadLimitsRow: row, room: mostRoom}
	if row.ClosedUntil > now {
		s.room = 0
	}
	if row.Running > 0 {
		s.room = min(s.room, max(0, row.Running-row.Active))
	}
	if s.interval() > 0 {
		s.room = min(s.room, s.tokens(now))
	}
	return s
}

// interval returns the time that one start uses up; 0 without a rate. It is rounded up, so that the rate is never exceeded.
func (s *state) interval() int64 {
	if s.Starts <= 0 || s.Period <= 0 {
		return 0
	}
	return (s.Period + s.Starts - 1) / s.Starts
}

// most returns the time that the starts of a full burst use up.
func (s *state) most() int64 { return max(1, s.Burst) * s.interval() }

// paid returns until when earlier starts have used up the rate. A later time than a full burst gives is of a slower rate, or of a clock that
// was set back.
func (s *state) paid(now int64) int64 { return min(max(s.PaidUntil, now), now+s.most()) }

// tokens returns how many starts the rate allows.
func (s *state) tokens(now int64) int64 { return (now + s.most() - s.paid(now)) / s.interval() }

// start takes the room for one job, if there is any.
func (s *state) start() bool {
	if s.started >= s.room {
		return false
	}
	s.started++
	return true
}

// spend notes the starts that took place. It returns until when the rate is used up; 0 without a rate.
func (s *state) spend(now, started int64) int64 {
	s.Active += started
	if s.interval() == 0 {
		return 0
	}
	s.PaidUntil = s.paid(now) + started*s.interval()
	return s.PaidUntil
}

// readyAt returns when a claim is to look at the lanes of the key again; nil: when one of its jobs has ended.
func (s *state) readyAt(now int64) *int64 {
	at := max(now, s.ClosedUntil)
	switch {
	case s.Running > 0 && s.Active >= s.Running:
		return nil
	case s.interval() > 0 && s.tokens(now) == 0:
		at = max(at, s.paid(now)-s.most()+s.interval())
	}
	return &at
}
