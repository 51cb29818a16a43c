package maintenance

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/clock"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/internal/queue/schedule"
)

const (
	// scheduleLook is how often a scheduler looks for schedules that are new or were changed, and for the end of a job that one waits
	// for.
	scheduleLook = time.Second

	// scheduleGap is the longest time between two looks that makes no tick a missed one.
	scheduleGap = 10 * time.Second

	// scheduleJudge is how long a scheduler leaves missed ticks to others that have looked for longer.
	scheduleJudge = 2 * time.Second

	scheduleMost   = 100              // schedules in one transaction
	scheduleRefuse = 10 * time.Second // after what time a schedule is tried again whose job the database refused
)

// Scheduler enqueues the jobs of schedules when they are due, and ends pauses of queues that end by themselves. Any number of them may work on one queue.
type Scheduler struct {
	Store    engine.Store
	Log      *slog.Logger
	Notes    *refusal.Notes
	Declared string // a JSON list of the schedules that the worker's program declares; it also serves those that no program does
	Enqueued func() // called after jobs were enqueued or cancelled; optional

	since, judge time.Time // by the clock of due times: see schedule.Watch
	looked       time.Time // by the process's clock
	clock        time.Time // at the same moment
	refused      map[string]time.Time
}

// Name implements Service.
func (*Scheduler) Name() string { return "scheduler" }

// Run implements Service.
func (s *Scheduler) Run(ctx context.Context) {
	alarm := clock.NewAlarm(s.Store.Now)
	defer alarm.Stop()
	s.since, s.refused = time.Time{}, map[string]time.Time{}
	trouble := outage.New(s.Log)
	for {
		pause := scheduleLook
		next, err := s.look(ctx)
		if ctx.Err() != nil {
			return
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

// watch returns what the scheduler knows of the time before now. A process that stood still, and a clock that was set, know nothing.
func (s *Scheduler) watch() schedule.Watch {
	looked, now := time.Now(), s.Store.Now()
	passed := looked.Sub(s.looked)
	jumped := passed > scheduleGap || (now.Sub(s.clock)-passed).Abs() > scheduleLook
	if s.since.IsZero() || jumped && !engine.ClockStands(s.Store) {
		s.since, s.judge = now, now.Add(scheduleJudge)
	}
	s.looked, s.clock = looked, now
	return schedule.Watch{Now: now, Since: s.since, Judge: s.judge}
}

// look does what is due, and returns when the next schedule is; zero if none is, or if it is overdue.
func (s *Scheduler) look(ctx context.Context) (next time.Time, err error) {
	return s.serve(ctx, s.watch())
}

// Once does what is due now, as a scheduler does that has looked all the time since a moment. It returns when the next schedule is due;
// zero if none is.
func (s *Scheduler) Once(ctx context.Context, since time.Time) (next time.Time, err error) {
	s.refused = map[string]time.Time{}
	return s.serve(ctx, schedule.Watch{Now: s.Store.Now(), Since: since})
}

func (s *Scheduler) serve(ctx context.Context, w schedule.Watch) (next time.Time, err error) {
	work, names, err := s.due(ctx, w.Now)
	if err != nil {
		return next, err
	}
	if len(names) > 0 {
		err = refusal.Apart(names, s.Store.RefusesRow, func(part []string) error { return s.fire(ctx, part, w) }, s.aside)
		if err == nil {
			work, err = s.work(ctx)
		}
		if err != nil {
			return next, err
		}
	}
	if work.PauseEnd != 0 && work.PauseEnd <= core.Micros(w.Now) {
		if err := EndPauses(ctx, s.Store); err != nil {
			return next, err
		}
		work.PauseEnd = 0
	}
	for _, at := range []int64{work.NextAt, work.PauseEnd} {
		if at > core.Micros(w.Now) {
			next = core.Earlier(next, core.Time(at))
		}
	}
	return next, nil
}

func (s *Scheduler) work(ctx context.Context) (work db.GetScheduleWorkRow, err error) {
	err = s.Store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		work, err = q.GetScheduleWork(ctx, s.Declared)
		return err
	})
	return work, err
}

// due returns the names of the schedules that are due.
func (s *Scheduler) due(ctx context.Context, now time.Time) (work db.GetScheduleWorkRow, names []string, err error) {
	if work, err = s.work(ctx); err != nil || work.Owed == 0 && (work.NextAt < 0 || work.NextAt > core.Micros(now)) {
		return work, nil, err
	}
	var list []string
	err = s.Store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		list, err = q.ListDueSchedules(ctx, db.ListDueSchedulesParams{Now: core.Micros(now), Declared: s.Declared, N: scheduleMost})
		return err
	})
	for _, name := range list {
		if !now.Before(s.refused[name]) {
			delete(s.refused, name)
			names = append(names, name)
		}
	}
	return work, names, err
}

// fire does what is due of some schedules, in one transaction.
func (s *Scheduler) fire(ctx context.Context, names []string, w schedule.Watch) error {
	var fired schedule.Fired
	err := s.Store.InsertWith(ctx, "", func(ctx context.Context, q db.Querier) (inserted bool, err error) {
		fired = schedule.Fired{}
		list, err := q.ListSchedulesNamed(ctx, core.JSONNames(names))
		if err != nil {
			return false, err
		}
		for _, row := range list {
			if err := schedule.Fire(ctx, q, row, w, &fired); err != nil {
				return false, err
			}
		}
		return len(fired.Jobs) > 0, lifecycle.CheckOpen(ctx, q)
	})
	if err != nil {
		return err
	}
	s.tell(fired)
	return nil
}

// tell tells others what was done. The commit has announced the jobs.
func (s *Scheduler) tell(fired schedule.Fired) {
	if fired.Cancelled {
		s.Store.Announce(core.WorkReady | core.JobEnded)
	}
	if s.Enqueued != nil && (fired.Cancelled || len(fired.Jobs) > 0) {
		s.Enqueued()
	}
	if o := s.Store.Observer(); o != nil && o.Enqueued != nil {
		for _, job := range fired.Jobs {
			o.Enqueued(job)
		}
	}
}

// aside sets a schedule aside whose job the database refuses. Its tick stays due.
func (s *Scheduler) aside(name string, err error) error {
	s.Notes.Tell("enqueue", "schedule "+strconv.Quote(name), err)
	s.refused[name] = s.Store.Now().Add(scheduleRefuse)
	return nil
}
