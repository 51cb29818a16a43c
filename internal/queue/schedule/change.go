package schedule

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/cron"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Check returns a [jobtype.InvalidError] for a schedule that must not be put, and sets its next tick after now.
func Check(p *db.PutScheduleParams, now time.Time) error {
	s := db.Schedule{
		Name: p.Name, Kind: p.Kind, Queue: p.Queue, Payload: p.Payload, Options: p.Options, Spec: p.Spec, Zone: p.Zone, StartAt: core.Micros(now),
	}
	spec, err := cron.Parse(s.Spec)
	if err != nil {
		return jobtype.NewInvalidError("specification", strconv.Quote(s.Spec), "be one such as \"0 2 * * *\": "+errors.Unwrap(err).Error())
	}
	zone, err := cron.Zone(s.Zone)
	if err != nil {
		must := "be an IANA name such as Europe/Berlin"
		if unknown := (*cron.ZoneError)(nil); errors.As(err, &unknown) {
			must = unknown.Must()
		}
		return jobtype.NewInvalidError("zone", strconv.Quote(s.Zone), must)
	}
	next, err := times{spec: spec, zone: zone, start: core.Time(s.StartAt).Truncate(time.Second)}.next(now)
	if err != nil {
		return jobtype.NewInvalidError("specification", strconv.Quote(s.Spec), "be due within forty years in the zone "+s.Zone)
	}
	if _, err := job(s, next, p.Now); err != nil { // the library has checked all other options
		if invalid := (*jobtype.InvalidError)(nil); errors.As(err, &invalid) {
			return err
		}
		return notAnObject()
	}
	p.Now, p.NextAt = core.Micros(now), core.Micros(next)
	return nil
}

// Get returns a schedule. The error is [jobtype.ErrNoSchedule] when there is none.
func Get(ctx context.Context, q db.Querier, name string) (db.Schedule, error) {
	s, err := q.GetSchedule(ctx, name)
	if errors.Is(core.NotFound(err), jobtype.ErrNotFound) {
		err = jobtype.ErrNoSchedule
	}
	return s, err
}

// Pause stops a schedule. It reports whether that changed anything.
func Pause(ctx context.Context, q db.Querier, name string, now time.Time) (bool, error) {
	if _, err := Get(ctx, q, name); err != nil {
		return false, err
	}
	n, err := q.PauseSchedule(ctx, db.PauseScheduleParams{Name: name, Now: core.Micros(now)})
	if err != nil || n == 0 {
		return false, err
	}
	return true, q.SkipOwedTicks(ctx, db.SkipOwedTicksParams{Schedule: name, Now: core.Micros(now)})
}

// Resume lets a paused schedule continue with its next tick: ticks during the pause do not count as missed. It reports whether
// that changed anything.
func Resume(ctx context.Context, q db.Querier, name string, now time.Time) (bool, error) {
	for range 5 {
		s, err := Get(ctx, q, name)
		if err != nil || s.PausedAt == nil {
			return false, err
		}
		next := int64(0) // a worker finds the tick, or the fault
		if t, err := timesOf(s); err == nil {
			if tick, err := t.next(now); err == nil {
				next = core.Micros(tick)
			}
		}
		n, err := q.ResumeSchedule(ctx, db.ResumeScheduleParams{Name: name, Version: s.Version, NextAt: next, Now: core.Micros(now)})
		if err != nil || n > 0 {
			return n > 0, err
		}
		// The schedule was changed between the two statements (not on SQLite, where one transaction writes at a time).
	}
	return false, errors.New("the row changed between read and write five times: other programs change it all the time, or a trigger prevents the write")
}

// Delete removes a schedule. It reports whether there was one.
func Delete(ctx context.Context, q db.Querier, name string) (bool, error) {
	n, err := q.DeleteSchedule(ctx, name)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = q.DeleteOldScheduleTicks(ctx, db.DeleteOldScheduleTicksParams{Schedule: name, Keep: 0})
	return true, err
}

// RunNow enqueues a job of a schedule at once, whatever its times and its overlap say. The job's tick is now.
func RunNow(ctx context.Context, q db.Querier, s db.Schedule, now time.Time) (id int64, err error) {
	name := s.Name
	tick := now.Truncate(time.Microsecond)
	if tick.Equal(tick.Truncate(time.Second)) {
		tick = tick.Add(time.Microsecond) // whole seconds are reserved for ticks by the clock
	}
	for {
		n, err := q.AddScheduleTick(ctx, db.AddScheduleTickParams{
			Schedule: name, Tick: core.Micros(tick), Outcome: string(jobtype.TickAsked), Now: core.Micros(now),
		})
		if err != nil {
			return 0, err
		}
		if n > 0 {
			break
		}
		tick = tick.Add(time.Microsecond) // for two calls in one microsecond
	}
	id, err = enqueue(ctx, q, s, tick, now)
	if err != nil {
		return 0, err
	}
	return id, q.EndScheduleTick(ctx, db.EndScheduleTickParams{
		Schedule: name, Tick: core.Micros(tick), Outcome: string(jobtype.TickAsked), JobID: &id, Now: core.Micros(now),
	})
}

// enqueue inserts the job of a tick.
func enqueue(ctx context.Context, q db.Querier, s db.Schedule, tick, now time.Time) (int64, error) {
	job, err := job(s, tick, core.Micros(now))
	if err != nil {
		return 0, fmt.Errorf("schedule %s: %w", strconv.Quote(s.Name), err)
	}
	inserted, err := lifecycle.Insert(ctx, q, lifecycle.Row{EnqueueJobParams: job})
	return core.Result(inserted.ID, err, "schedule %s: enqueue %s", strconv.Quote(s.Name), s.Kind)
}
