package maintenance

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/clock"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/internal/queue/schedule"
)

// upkeepLook is the interval of the looks for due work: new schedules, the end of a job that a schedule waits for, a successor whose key
// is free.
const upkeepLook = time.Second

// duty is a service that shares the look of [Upkeep].
type duty interface {
	// name returns the work of the duty for the log.
	name() string

	// due reports whether the work that the look found is due for the duty at a time, in microseconds.
	due(work db.GetScheduleWorkRow, now int64) bool

	// run does the due work.
	run(ctx context.Context, w schedule.Watch) error

	// next returns the times of the duty's next work, in microseconds. Times that are not after the look's count as no time.
	next(work db.GetScheduleWorkRow) []int64
}

// tolerant is a duty whose failures may leave the other duties their turn.
type tolerant interface {
	// settle records the result of run. It returns the error unless the other duties may continue.
	settle(err error, now time.Time) error
}

// Upkeep runs the duties that one look serves: it reads the due work with one statement, and asks each duty whether its time has come.
// Any number of processes may do so on one queue.
type Upkeep struct {
	Store    engine.Store
	Log      *slog.Logger
	Declared string // a JSON list of the schedules that the worker's program declares; it also serves schedules that no program declares
	Notes    *refusal.Notes
	Changed  func() // called after jobs were enqueued, cancelled or expired; optional

	watch     watch
	mender    *clockMender
	scheduler *scheduler
	duties    []duty
}

// begin creates the duties, without records of earlier failures.
func (u *Upkeep) begin() {
	u.watch = watch{store: u.Store}
	u.mender = &clockMender{store: u.Store, log: u.Log, refused: outage.New(u.Log)}
	u.scheduler = newScheduler(u)
	u.duties = []duty{
		&pauseEnder{store: u.Store, refused: outage.New(u.Log)},
		u.scheduler,
		&successorReleaser{store: u.Store, failed: outage.New(u.Log)}, // after these: it may have to wait for a caller's transaction
		&Expirer{Store: u.Store, Notes: u.Notes, Ended: u.Changed},
		newLaneMender(u),
	}
}

// Name implements Service.
func (*Upkeep) Name() string { return "upkeep" }

// Run implements Service.
func (u *Upkeep) Run(ctx context.Context) {
	alarm := clock.NewAlarm(u.Store.Now)
	defer alarm.Stop()
	u.begin()
	trouble := outage.New(u.Log)
	for {
		pause := upkeepLook
		w, looked := u.watch.begin()
		next, err := u.look(ctx, w)
		if err == nil {
			looked()
		}
		if ctx.Err() != nil {
			return
		}
		if err == nil && u.scheduler.more {
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

// Once does the work that is due now, as a worker does that has looked all the time since a moment. It returns the time of the next
// work; zero if there is none.
func (u *Upkeep) Once(ctx context.Context, since time.Time) (next time.Time, err error) {
	u.begin()
	for {
		next, err = u.look(ctx, schedule.Watch{Now: u.Store.Now(), Since: since})
		if err != nil || !u.scheduler.more {
			return next, err
		}
	}
}

// look does the due work, and returns the time of the next work; zero if there is none, or if it was due when the look began.
func (u *Upkeep) look(ctx context.Context, w schedule.Watch) (next time.Time, err error) {
	if err := u.mender.look(ctx); err != nil {
		return next, err
	}
	u.scheduler.more = false
	work, err := u.runDue(ctx, w, func(d duty, err error) error {
		if t, ok := d.(tolerant); ok {
			return t.settle(err, w.Now)
		}
		return err
	})
	if err != nil {
		return next, err
	}
	now := core.Micros(w.Now) // what has fallen due since then is the next work: the caller looks again at once
	for _, d := range u.duties {
		for _, at := range d.next(work) {
			if at > now {
				next = core.Earlier(next, core.Time(at))
			}
		}
	}
	return next, nil
}

// runDue reads the work, and runs each duty whose time has come. After each run it reads the work again, unless settle returns an error for
// the duty's result.
func (u *Upkeep) runDue(ctx context.Context, w schedule.Watch, settle func(duty, error) error) (work db.GetScheduleWorkRow, err error) {
	read := func() error {
		return u.Store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
			work, err = q.GetScheduleWork(ctx, u.Declared)
			return err
		})
	}
	err = read()
	for _, d := range u.duties {
		if err != nil {
			break
		}
		if d.due(work, core.Micros(w.Now)) {
			if err = settle(d, d.run(ctx, w)); err == nil {
				err = read()
			}
		}
	}
	return work, err
}

// SettleOverdue does the due work once, except for schedules. It writes only if there is work, and logs refusals of the database, which
// stop no other work.
func (u *Upkeep) SettleOverdue(ctx context.Context) error {
	u.begin()
	u.duties = slices.DeleteFunc(u.duties, func(d duty) bool { return d == duty(u.scheduler) })
	now := u.Store.Now()
	if err := u.mender.mend(ctx, now); err != nil && u.mender.isRefusal(err) {
		u.Log.Warn("mending times that a clock wrote that was ahead failed", "error", err)
	} else if err != nil {
		return err
	}
	_, err := u.runDue(ctx, schedule.Watch{Now: now}, func(d duty, err error) error {
		if err != nil && u.Store.RefusesRow(err) {
			u.Log.Warn(d.name()+" failed", "error", err)
			return nil
		}
		return err
	})
	return err
}

// note records the result of work that is tried again at each look.
func note(o *outage.Outage, err error, over, failed string) {
	if err == nil {
		o.Over(over)
		return
	}
	o.Failed(slog.LevelWarn, failed, "error", err)
}
