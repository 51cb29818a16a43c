package schedule

import (
	"context"
	"errors"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const (
	keepTicks = 100  // the number of kept ticks of a schedule
	faultMost = 1000 // the largest number of kept bytes of an error
)

// Watch describes a worker's knowledge of the time before now.
type Watch struct {
	Now        time.Time
	Since      time.Time // the worker has looked for ticks since this time: a later tick is not missed
	DeferUntil time.Time // until this time the worker leaves ticks before Since to workers that have looked for longer
}

// Fired counts the results of [Fire].
type Fired struct {
	Schedules int // schedules whose next tick was recorded
	Jobs      []jobtype.Enqueued
	Cancelled bool // a job was cancelled, or its worker asked to cancel it
}

// ErrDeferred is returned by [Fire] for a schedule whose missed ticks other workers may still handle: see Watch.DeferUntil.
var ErrDeferred = errors.New("missed ticks are left to workers that have looked for longer")

// A Fault says why this worker cannot compute the due ticks of a schedule, or enqueue its jobs. Another version of the program may.
type Fault struct{ Err error }

func (f *Fault) Error() string { return f.Err.Error() }
func (f *Fault) Unwrap() error { return f.Err }

// Fire handles the due ticks of a schedule that was read in the same transaction. It first records the next tick, in which one
// of many workers succeeds, and then enqueues the jobs. With a [Fault] or [ErrDeferred] it has changed nothing.
func Fire(ctx context.Context, q db.Querier, s db.Schedule, w Watch, fired *Fired) error {
	due, next, err := plan(s, w)
	if err != nil {
		return err
	}
	n, err := q.AdvanceSchedule(ctx, db.AdvanceScheduleParams{
		Name: s.Name, Version: s.Version, WasAt: s.NextAt, NextAt: core.Micros(next), Now: core.Micros(w.Now),
	})
	if err != nil || n == 0 {
		return err
	}
	fired.Schedules++
	f := &firing{q: q, s: s, now: w.Now, fired: fired, made: lifecycle.NewTransitions()}
	return f.run(ctx, due)
}

// RecordFault records why a worker cannot serve a schedule, for people to read.
func RecordFault(ctx context.Context, q db.Querier, name string, now time.Time, fault error) error {
	return q.SetScheduleFault(ctx, db.SetScheduleFaultParams{Name: name, Fault: core.Clean(fault.Error(), faultMost), Now: core.Micros(now)})
}

// tick is a due tick.
type tick struct {
	at     time.Time
	since  time.Time // the first missed tick before it; zero for none
	missed bool      // the tick itself was missed
}

// plan returns the due ticks, and the next one after now.
func plan(s db.Schedule, w Watch) (due []tick, next time.Time, err error) {
	t, err := timesOf(s)
	if err == nil {
		next, err = t.next(w.Now)
	}
	if err == nil {
		_, err = job(s, next, 0)
	}
	if err != nil {
		return nil, next, &Fault{err}
	}
	first := core.Time(s.NextAt)
	if s.NextAt == 0 {
		return nil, next, nil // the schedule is new
	}
	if first.After(w.Now) {
		return nil, first, nil // only a postponed tick is due
	}
	for _, at := range t.last(first, w.Now, maxTicks(s.CatchUp)) {
		due = append(due, tick{at: at})
	}
	if len(due) > 0 && due[0].at.After(first) {
		due[0].since = first
	}
	if s.CatchUp == CatchUpNone && len(due) > 0 && !due[0].at.After(w.Since) {
		if w.Now.Before(w.DeferUntil) {
			return nil, next, ErrDeferred
		}
		due[0].missed = true
	}
	return due, next, nil
}

// firing is one call of Fire that has recorded the next tick before all other workers.
type firing struct {
	q     db.Querier
	s     db.Schedule
	now   time.Time
	fired *Fired
	made  *lifecycle.Transitions
}

func (f *firing) run(ctx context.Context, due []tick) error {
	if f.s.OwedAt != nil {
		if err := f.enqueuePostponed(ctx, core.Time(*f.s.OwedAt)); err != nil {
			return err
		}
	}
	for _, t := range due {
		if err := f.fireTick(ctx, t); err != nil {
			return err
		}
	}
	if err := f.made.Conclude(ctx, f.q, core.Micros(f.now)); err != nil {
		return err
	}
	err := f.q.NoteScheduleJob(ctx, db.NoteScheduleJobParams{
		Name: f.s.Name, LastAt: f.s.LastAt, LastJobID: f.s.LastJobID, OwedAt: f.s.OwedAt,
	})
	if err != nil {
		return err
	}
	_, err = f.q.DeleteOldScheduleTicks(ctx, db.DeleteOldScheduleTicksParams{Schedule: f.s.Name, Keep: keepTicks})
	return err
}

// enqueuePostponed enqueues the job of the postponed tick, if the last job has ended.
func (f *firing) enqueuePostponed(ctx context.Context, owed time.Time) error {
	live, err := f.live(ctx)
	if err != nil || live {
		return err
	}
	f.s.OwedAt = nil
	var replaced *int64
	if f.s.Overlap == OverlapReplace {
		replaced = f.s.LastJobID
	}
	return f.enqueue(ctx, owed, replaced)
}

// fireTick handles a tick as the schedule's overlap says.
func (f *firing) fireTick(ctx context.Context, t tick) error {
	outcome := jobtype.TickEnqueued
	if t.missed {
		outcome = jobtype.TickMissed
	}
	n, err := f.q.AddScheduleTick(ctx, db.AddScheduleTickParams{
		Schedule: f.s.Name, Tick: core.Micros(t.at), Outcome: string(outcome), Since: since(t), Now: core.Micros(f.now),
	})
	if err != nil || n == 0 || t.missed {
		return err
	}
	if f.s.Overlap != OverlapAllow {
		live, err := f.live(ctx)
		if err != nil {
			return err
		}
		if live {
			return f.overlap(ctx, t.at)
		}
	}
	return f.enqueue(ctx, t.at, nil)
}

func since(t tick) *int64 {
	if t.since.IsZero() {
		return nil
	}
	return new(core.Micros(t.since))
}

// live reports whether the last job has not ended.
func (f *firing) live(ctx context.Context) (bool, error) {
	if f.s.LastJobID == nil {
		return false, nil
	}
	fence, err := f.q.GetJobFence(ctx, *f.s.LastJobID)
	if err = core.NotFound(err); errors.Is(err, jobtype.ErrNotFound) {
		return false, nil
	}
	return err == nil && !jobtype.Status(fence.Status).Final(), err
}

// overlap handles a tick at which the last job has not ended, as the schedule says.
func (f *firing) overlap(ctx context.Context, at time.Time) error {
	switch f.s.Overlap {
	case OverlapSkip:
		return f.recordOutcome(ctx, at, jobtype.TickSkipped, nil, nil)
	case OverlapReplace:
		last := *f.s.LastJobID
		became, err := lifecycle.Cancel(ctx, f.q, core.Micros(f.now), last, lifecycle.Options{}, f.made)
		switch {
		case errors.Is(err, lifecycle.ErrUnchanged):
		case lifecycle.Refused(err): // the last job has just ended
			return f.enqueue(ctx, at, nil)
		case err != nil:
			return err
		case became == jobtype.StatusCancelled:
			f.fired.Cancelled = true
			return f.enqueue(ctx, at, &last)
		}
		f.fired.Cancelled = true
	}
	return f.postpone(ctx, at)
}

// postpone postpones a tick until the last job has ended. It replaces a tick that was postponed before, which is then skipped.
func (f *firing) postpone(ctx context.Context, at time.Time) error {
	if f.s.OwedAt != nil {
		if err := f.recordOutcome(ctx, core.Time(*f.s.OwedAt), jobtype.TickSkipped, nil, nil); err != nil {
			return err
		}
	}
	f.s.OwedAt = new(core.Micros(at))
	return f.recordOutcome(ctx, at, jobtype.TickOwed, nil, nil)
}

// enqueue inserts the job of a tick; replaced, unless nil, is the job that it replaces.
func (f *firing) enqueue(ctx context.Context, at time.Time, replaced *int64) error {
	id, err := enqueue(ctx, f.q, f.s, at, f.now)
	if err != nil {
		return err
	}
	f.s.LastAt, f.s.LastJobID = new(core.Micros(at)), &id
	f.fired.Jobs = append(f.fired.Jobs, jobtype.Enqueued{Kind: f.s.Kind, Queue: f.s.Queue, Jobs: 1})
	return f.recordOutcome(ctx, at, jobtype.TickEnqueued, &id, replaced)
}

// recordOutcome records the outcome of a tick.
func (f *firing) recordOutcome(ctx context.Context, at time.Time, outcome jobtype.TickOutcome, id, replaced *int64) error {
	return f.q.EndScheduleTick(ctx, db.EndScheduleTickParams{
		Schedule: f.s.Name, Tick: core.Micros(at), Outcome: string(outcome), JobID: id, ReplacedID: replaced, Now: core.Micros(f.now),
	})
}
