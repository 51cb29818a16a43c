package maintenance

import (
	"context"
	"errors"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const (
	scheduleMost = 100  // schedules in one transaction
	scheduleJobs = 1000 // the number of jobs after which a transaction begins no other schedule

	// The times after which a schedule is tried again: one that this worker could not serve, and one that another transaction has locked,
	// itself or its last job. One whose job the database refuses is tried again at growing intervals: see refusal.Delay.
	scheduleAgain  = time.Minute
	scheduleLocked = time.Second

	// scheduleFault is the overdue time after which people see why this worker cannot serve a schedule: another worker may.
	scheduleFault = 10 * time.Second
)

// scheduler enqueues the jobs of schedules when they are due.
type scheduler struct {
	upkeep  *Upkeep
	more    bool                 // more schedules may be new, which the next look handles
	aside   map[string]time.Time // the earliest time of the next try, by schedule
	refused map[string]int       // the number of times in a row that the database has refused the job of a schedule
	told    map[string]string    // the logged reasons why this worker cannot serve a schedule
}

func newScheduler(u *Upkeep) *scheduler {
	return &scheduler{upkeep: u, aside: map[string]time.Time{}, refused: map[string]int{}, told: map[string]string{}}
}

func (*scheduler) name() string { return "serving schedules" }

func (*scheduler) due(work db.GetScheduleWorkRow, now int64) bool {
	return work.Owed > 0 || work.NextAt >= 0 && work.NextAt <= now || work.NextDeclared >= 0 && work.NextDeclared <= now
}

func (*scheduler) next(work db.GetScheduleWorkRow) []int64 {
	return []int64{work.NextAt, work.NextDeclared}
}

// run fires all due schedules, some in each transaction. Then it finds the next ticks of some new ones, so that thousands that are
// added at once do not delay the schedules that fall due meanwhile.
func (s *scheduler) run(ctx context.Context, w schedule.Watch) error {
	for ctx.Err() == nil {
		names, err := s.dueNames(ctx, w.Now)
		if err != nil {
			return err
		}
		progress, err := s.fireApart(ctx, names, w)
		if err != nil {
			return err
		}
		if len(names) == 0 || !progress && len(names) < scheduleMost {
			break // another worker has the others, or they are locked
		}
	}
	names, err := s.newNames(ctx, w.Now)
	if err != nil {
		return err
	}
	_, err = s.fireApart(ctx, names, w)
	s.more = len(names) == scheduleMost
	return errors.Join(err, ctx.Err())
}

// fireApart fires some due schedules, and sets aside those schedules that this worker cannot serve. It reports whether it recorded the next tick of any.
func (s *scheduler) fireApart(ctx context.Context, names []string, w schedule.Watch) (progress bool, err error) {
	if len(names) == 0 {
		return false, nil
	}
	err = refusal.Split(names, s.cannot, func(part []string) error {
		fired, err := s.fire(ctx, part, w)
		progress = progress || fired.Schedules > 0
		return err
	}, func(name string, err error) error { return s.leave(ctx, name, w, err) })
	return progress, err
}

// dueNames returns the names of the schedules that are due, the most overdue ones first.
func (s *scheduler) dueNames(ctx context.Context, now time.Time) (names []string, err error) {
	err = s.upkeep.Store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		names, err = q.ListDueSchedules(ctx, db.ListDueSchedulesParams{
			Now: core.Micros(now), Declared: s.upkeep.Declared, Without: s.setAside(now), N: scheduleMost,
		})
		return err
	})
	return names, err
}

// newNames returns the names of some schedules whose next tick no worker has found yet.
func (s *scheduler) newNames(ctx context.Context, now time.Time) (names []string, err error) {
	err = s.upkeep.Store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		names, err = q.ListNewSchedules(ctx, db.ListNewSchedulesParams{Without: s.setAside(now), N: scheduleMost})
		return err
	})
	return names, err
}

// setAside returns the names of the set-aside schedules as a JSON list.
func (s *scheduler) setAside(now time.Time) string {
	var without []string
	for name, until := range s.aside {
		if now.Before(until) {
			without = append(without, name)
		} else {
			delete(s.aside, name)
		}
	}
	return core.JSONNames(without)
}

// fire fires some due schedules in one transaction. It sets schedules that another transaction has locked aside for a moment.
func (s *scheduler) fire(ctx context.Context, names []string, w schedule.Watch) (schedule.Fired, error) {
	var fired schedule.Fired
	var tried map[string]bool
	// The transaction does not wait for an application's transactions, which may last: all other schedules would wait too.
	err := s.upkeep.Store.InsertWith(engine.Briefly(ctx), "", func(ctx context.Context, q db.Querier) (inserted bool, err error) {
		fired, tried = schedule.Fired{}, map[string]bool{}
		list, err := q.TakeSchedules(ctx, core.JSONNames(names))
		if err != nil {
			return false, err
		}
		for _, row := range list {
			tried[row.Name] = true
			if len(fired.Jobs) >= scheduleJobs {
				continue // these schedules stay due
			}
			if err := schedule.Fire(ctx, q, row, w, &fired); err != nil {
				return false, err
			}
		}
		return len(fired.Jobs) > 0, lifecycle.CheckOpen(ctx, q)
	})
	if err != nil {
		return schedule.Fired{}, err
	}
	for _, name := range names {
		if !tried[name] {
			s.aside[name] = w.Now.Add(scheduleLocked)
		} else {
			delete(s.told, name)
		}
		delete(s.refused, name)
	}
	s.tell(fired)
	return fired, nil
}

// tell reports fired schedules to others. The commit has announced the jobs.
func (s *scheduler) tell(fired schedule.Fired) {
	if fired.Cancelled {
		s.upkeep.Store.Announce(core.WorkReady | core.JobEnded)
	}
	if s.upkeep.Changed != nil && (fired.Cancelled || len(fired.Jobs) > 0) {
		s.upkeep.Changed()
	}
	if o := s.upkeep.Store.Observer(); o != nil && o.Enqueued != nil {
		for _, job := range fired.Jobs {
			o.Enqueued(job)
		}
	}
}

// cannot reports whether an error may concern one schedule alone: the others can be served without it.
func (s *scheduler) cannot(err error) bool {
	return errors.Is(err, schedule.ErrDeferred) || errors.As(err, new(*schedule.Fault)) || errors.Is(err, engine.ErrNotAdded) ||
		errors.Is(err, lifecycle.ErrChanging) || s.upkeep.Store.RefusesRow(err) || lifecycle.IsLocked(s.upkeep.Store, err)
}

// leave sets a schedule aside that this worker cannot serve. Its tick stays due.
func (s *scheduler) leave(ctx context.Context, name string, w schedule.Watch, fault error) error {
	now := w.Now
	if errors.Is(fault, schedule.ErrDeferred) {
		s.aside[name] = w.DeferUntil
		return nil
	}
	if lifecycle.IsLocked(s.upkeep.Store, fault) {
		s.aside[name] = now.Add(scheduleLocked)
		return nil
	}
	pause, refused := scheduleAgain, s.upkeep.Store.RefusesRow(fault)
	if refused {
		s.refused[name]++
		pause = refusal.Delay(s.refused[name])
	}
	s.aside[name] = now.Add(pause)
	if text := fault.Error(); s.told[name] != text {
		s.told[name] = text
		s.upkeep.Log.Error("cannot serve a schedule; trying again", "schedule", name, "again_in", pause, "error", fault)
	}
	return s.upkeep.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		row, err := schedule.Get(ctx, q, name)
		switch {
		case errors.Is(err, jobtype.ErrNoSchedule):
			return nil
		case err != nil:
			return err
		case !refused && row.NextAt > core.Micros(now.Add(-scheduleFault)):
			return nil // a worker that can serve it may come
		}
		return schedule.RecordFault(ctx, q, name, now, fault)
	})
}
