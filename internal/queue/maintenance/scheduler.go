package maintenance

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/clock"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const (
	// scheduleLook is the interval of a scheduler's looks for schedules that are new or were changed, and for the end of a job that a
	// schedule waits for.
	scheduleLook = time.Second

	// scheduleGap is the longest time between two looks after which ticks between them do not count as missed.
	scheduleGap = 10 * time.Second

	// scheduleJudge is the time for which a scheduler leaves missed ticks to others that have looked for longer.
	scheduleJudge = 2 * time.Second

	scheduleMost = 100  // schedules in one transaction
	scheduleJobs = 1000 // the number of jobs after which a transaction begins no other schedule

	// The times after which a schedule is tried again: one that this worker could not serve, and one that another transaction has locked,
	// itself or its last job. One whose job the database refuses is tried again at growing intervals: see refusal.Delay.
	scheduleAgain  = time.Minute
	scheduleLocked = time.Second

	// scheduleFault is the overdue time after which people see why this worker cannot serve a schedule: another worker may.
	scheduleFault = 10 * time.Second
)

// Scheduler enqueues the jobs of schedules when they are due, ends pauses that end by themselves, releases successors whose unique keys
// are free, and ends jobs that were not started in time. Any number of schedulers may work on one queue.
type Scheduler struct {
	Store    engine.Store
	Log      *slog.Logger
	Declared string // a JSON list of the schedules that the worker's program declares; it also serves schedules that no program declares
	Notes    *refusal.Notes
	Changed  func() // called after jobs were enqueued, cancelled or expired; optional

	since, judge time.Time            // by the clock of due times: see schedule.Watch
	looked       time.Time            // the last look, by the process's clock
	clock        time.Time            // the clock of due times at looked
	aside        map[string]time.Time // the earliest time of the next try, by schedule
	refused      map[string]int       // the number of times in a row that the database has refused the job of a schedule
	told         map[string]string    // the logged reasons why this worker cannot serve a schedule
	releasing    *outage.Outage       // failures to release successors
	resuming     *outage.Outage       // failures to resume queues and kinds whose pause is over
	resumeAgain  time.Time            // the next try for pauses that the database refused to end
	ahead        *ahead
}

// Name implements Service.
func (*Scheduler) Name() string { return "scheduler" }

// Run implements Service.
func (s *Scheduler) Run(ctx context.Context) {
	alarm := clock.NewAlarm(s.Store.Now)
	defer alarm.Stop()
	s.since = time.Time{}
	s.forget()
	trouble := outage.New(s.Log)
	for {
		pause := scheduleLook
		next, more, err := s.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if more {
			continue
		}
		if err == nil {
			trouble.Over("schedules are served again")
			alarm.Set(next)
		} else {
			trouble.Failed(slog.LevelError, "serving schedules failed; trying again", "error", err)
			pause = max(pause, outage.Backoff(trouble.Failures()))
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-alarm.Ring():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// forget clears the records of earlier failures.
func (s *Scheduler) forget() {
	s.releasing, s.resuming, s.resumeAgain = outage.New(s.Log), outage.New(s.Log), time.Time{}
	s.ahead = &ahead{refused: outage.New(s.Log)}
	s.aside, s.refused, s.told = map[string]time.Time{}, map[string]int{}, map[string]string{}
}

// watch returns the scheduler's knowledge of the time before now. It has none after its process stood still or could not look, and
// after a clock was set. The caller calls looked after a look.
func (s *Scheduler) watch() (w schedule.Watch, looked func()) {
	at, now := time.Now(), s.Store.Now()
	passed := at.Sub(s.looked)
	jumped := passed > scheduleGap || (now.Sub(s.clock)-passed).Abs() > scheduleLook
	if s.since.IsZero() || jumped && !engine.ClockStands(s.Store) {
		s.since, s.judge = now, now.Add(scheduleJudge)
		s.looked, s.clock = at, now
	}
	return schedule.Watch{Now: now, Since: s.since, Judge: s.judge}, func() { s.looked, s.clock = at, now }
}

// look does the due work, and returns the time of the next work; zero if there is none, or if it is overdue. It reports whether more
// schedules may be new, which the next look handles.
func (s *Scheduler) look(ctx context.Context) (next time.Time, more bool, err error) {
	w, looked := s.watch()
	served, err := s.serve(ctx, w)
	if err != nil {
		return next, false, err
	}
	looked()
	next, err = s.expire(ctx, served)
	return next, served.more, err
}

// Once does the work that is due now, as a scheduler that has looked all the time since a moment. It returns the time of the next
// work; zero if there is none.
func (s *Scheduler) Once(ctx context.Context, since time.Time) (next time.Time, err error) {
	s.forget()
	for {
		served, err := s.serve(ctx, schedule.Watch{Now: s.Store.Now(), Since: since})
		if err != nil {
			return time.Time{}, err
		}
		if !served.more {
			return s.expire(ctx, served)
		}
	}
}

// served is the result of serving schedules and pauses.
type served struct {
	next    time.Time // the time of the next due schedule or pause; zero if there is none, or if it is overdue
	startBy int64     // the earliest start-by time of a waiting job, in microseconds; 0 if there is none
	more    bool      // more schedules may be new
}

// serve handles schedules and pauses.
func (s *Scheduler) serve(ctx context.Context, w schedule.Watch) (done served, err error) {
	now := core.Micros(w.Now)
	if err := s.ahead.look(ctx, s.Store, s.Log); err != nil {
		return done, err
	}
	work, err := s.work(ctx)
	if err != nil {
		return done, err
	}
	if work.PauseEnd != 0 && work.PauseEnd <= now && !w.Now.Before(s.resumeAgain) {
		if err := s.resume(ctx, w.Now); err != nil {
			return done, err
		}
	}
	free := work.Free > 0
	if isDue(work, now) {
		if done.more, err = s.fireAll(ctx, w); err != nil {
			return done, err
		}
		if work, err = s.work(ctx); err != nil {
			return done, err
		}
	}
	var failed error
	if free { // last: the release may have to wait for a caller's transaction
		failed = releaseFree(ctx, s.Store, now)
	}
	// The next look tries again: a key was taken again, or the database refuses it.
	note(s.releasing, failed, "successors of jobs with unique keys are released again", "releasing successors of jobs with unique keys failed; trying again")
	for _, at := range []int64{work.NextAt, work.NextDeclared, work.PauseEnd} {
		if at > now {
			done.next = core.Earlier(done.next, core.Time(at))
		}
	}
	done.startBy = work.StartBy
	return done, nil
}

// resume ends pauses that are over. Schedules, and jobs with a time, do not wait for pauses that the database refuses to end.
func (s *Scheduler) resume(ctx context.Context, now time.Time) error {
	err := endPauses(ctx, s.Store)
	if err != nil && !s.Store.RefusesRow(err) {
		return err
	}
	note(s.resuming, err, "pauses end again", "the database refuses to end pauses; trying again")
	if s.resumeAgain = now; err != nil {
		s.resumeAgain = now.Add(outage.Backoff(s.resuming.Failures())) // no longer: other pauses end meanwhile
	}
	return nil
}

// note records the result of a part of a look.
func note(o *outage.Outage, err error, over, failed string) {
	if err == nil {
		o.Over(over)
		return
	}
	o.Failed(slog.LevelWarn, failed, "error", err)
}

// expire ends the jobs that were not started in time, if the first start-by time has passed. It returns the earlier of the times at which
// a schedule or pause is due, and by which the next job must start.
func (s *Scheduler) expire(ctx context.Context, done served) (time.Time, error) {
	next, startBy := done.next, done.startBy
	now := core.Micros(s.Store.Now())
	if startBy != 0 && startBy <= now {
		expiry := Expiry{Store: s.Store, Notes: s.Notes, Ended: s.Changed}
		if _, err := expiry.Once(ctx); err != nil {
			return next, err
		}
		work, err := s.work(ctx)
		if err != nil {
			return next, err
		}
		startBy = work.StartBy
	}
	if startBy > now {
		next = core.Earlier(next, core.Time(startBy))
	}
	return next, nil
}

// isDue reports whether a schedule may have to fire.
func isDue(work db.GetScheduleWorkRow, now int64) bool {
	return work.Owed > 0 || work.NextAt >= 0 && work.NextAt <= now || work.NextDeclared >= 0 && work.NextDeclared <= now
}

func (s *Scheduler) work(ctx context.Context) (work db.GetScheduleWorkRow, err error) {
	err = s.Store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		work, err = q.GetScheduleWork(ctx, s.Declared)
		return err
	})
	return work, err
}

// fireAll fires all due schedules, some in each transaction. Then it finds the next ticks of some new ones, so that thousands that are
// added at once do not delay the schedules that fall due meanwhile. It reports whether more may be new.
func (s *Scheduler) fireAll(ctx context.Context, w schedule.Watch) (more bool, err error) {
	for ctx.Err() == nil {
		names, err := s.due(ctx, w.Now)
		if err != nil {
			return false, err
		}
		progress, err := s.fireApart(ctx, names, w)
		if err != nil {
			return false, err
		}
		if len(names) == 0 || !progress && len(names) < scheduleMost {
			break // another worker has the others, or they are locked
		}
	}
	names, err := s.fresh(ctx, w.Now)
	if err != nil {
		return false, err
	}
	_, err = s.fireApart(ctx, names, w)
	return len(names) == scheduleMost, errors.Join(err, ctx.Err())
}

// fireApart fires some due schedules, and sets aside those schedules that this worker cannot serve. It reports whether it noted the next
// tick of any.
func (s *Scheduler) fireApart(ctx context.Context, names []string, w schedule.Watch) (progress bool, err error) {
	if len(names) == 0 {
		return false, nil
	}
	err = refusal.Split(names, s.cannot, func(part []string) error {
		fired, err := s.fire(ctx, part, w)
		progress = progress || fired.Schedules > 0
		return err
	}, func(name string, err error) error { return s.leave(ctx, name, w.Now, err) })
	return progress, err
}

// due returns the names of the schedules that are due, the most overdue ones first.
func (s *Scheduler) due(ctx context.Context, now time.Time) (names []string, err error) {
	err = s.Store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		names, err = q.ListDueSchedules(ctx, db.ListDueSchedulesParams{
			Now: core.Micros(now), Declared: s.Declared, Without: s.setAside(now), N: scheduleMost,
		})
		return err
	})
	return names, err
}

// fresh returns the names of some schedules whose next tick no worker has found yet.
func (s *Scheduler) fresh(ctx context.Context, now time.Time) (names []string, err error) {
	err = s.Store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		names, err = q.ListNewSchedules(ctx, db.ListNewSchedulesParams{Without: s.setAside(now), N: scheduleMost})
		return err
	})
	return names, err
}

// setAside returns the names of the set-aside schedules as a JSON list.
func (s *Scheduler) setAside(now time.Time) string {
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
func (s *Scheduler) fire(ctx context.Context, names []string, w schedule.Watch) (schedule.Fired, error) {
	var fired schedule.Fired
	var tried map[string]bool
	// The transaction does not wait for an application's transactions, which may last: all other schedules would wait too.
	err := s.Store.InsertWith(engine.Briefly(ctx), "", func(ctx context.Context, q db.Querier) (inserted bool, err error) {
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
func (s *Scheduler) tell(fired schedule.Fired) {
	if fired.Cancelled {
		s.Store.Announce(core.WorkReady | core.JobEnded)
	}
	if s.Changed != nil && (fired.Cancelled || len(fired.Jobs) > 0) {
		s.Changed()
	}
	if o := s.Store.Observer(); o != nil && o.Enqueued != nil {
		for _, job := range fired.Jobs {
			o.Enqueued(job)
		}
	}
}

// cannot reports whether an error may concern one schedule alone: the others can be served without it.
func (s *Scheduler) cannot(err error) bool {
	return errors.Is(err, schedule.ErrLeft) || errors.As(err, new(*schedule.Fault)) || errors.Is(err, engine.ErrNotAdded) ||
		errors.Is(err, lifecycle.ErrChanging) || s.Store.RefusesRow(err) || lifecycle.IsLocked(s.Store, err)
}

// leave sets a schedule aside that this worker cannot serve. Its tick stays due.
func (s *Scheduler) leave(ctx context.Context, name string, now time.Time, fault error) error {
	if errors.Is(fault, schedule.ErrLeft) {
		s.aside[name] = s.judge
		return nil
	}
	if lifecycle.IsLocked(s.Store, fault) {
		s.aside[name] = now.Add(scheduleLocked)
		return nil
	}
	pause, refused := scheduleAgain, s.Store.RefusesRow(fault)
	if refused {
		s.refused[name]++
		pause = refusal.Delay(s.refused[name])
	}
	s.aside[name] = now.Add(pause)
	if text := fault.Error(); s.told[name] != text {
		s.told[name] = text
		s.Log.Error("cannot serve a schedule; trying again", "schedule", name, "again_in", pause, "error", fault)
	}
	return s.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		row, err := schedule.Get(ctx, q, name)
		switch {
		case errors.Is(err, jobtype.ErrNoSchedule):
			return nil
		case err != nil:
			return err
		case !refused && row.NextAt > core.Micros(now.Add(-scheduleFault)):
			return nil // a worker that can serve it may come
		}
		return schedule.NoteFault(ctx, q, name, now, fault)
	})
}
