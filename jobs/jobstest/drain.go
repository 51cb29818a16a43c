package jobstest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Drain runs the due jobs of all queues that are not paused, until no job is due whose kind has a handler. It also runs jobs that handlers
// enqueue, and jobs of due schedules that PutSchedule has put. Jobs of other kinds, and jobs that are scheduled for later, stay. A job that
// a schedule owes because the previous one had not ended (OverlapAfter) may run only in the next Drain. register sets the handlers of a
// runner by [jobs.Kind.Handle]; Drain calls it for each runner that it creates. Drain does not return while a handler snoozes its job by 0
// each time.
func (q *Queue) Drain(register func(*jobs.Runner)) {
	q.tb.Helper()
	if err := q.drain(q.tb.Context(), register); err != nil {
		q.tb.Fatalf("jobstest: drain: %v", err)
	}
}

// RunFor advances the clock by d, and runs jobs as Drain does at each time on the way at which a job or a schedule is due, as a
// worker would have done in that time.
func (q *Queue) RunFor(d time.Duration, register func(*jobs.Runner)) {
	q.tb.Helper()
	if err := q.runUntil(q.tb.Context(), q.Now().Add(d), register); err != nil {
		q.tb.Fatalf("jobstest: run for %s: %v", d, err)
	}
}

func (q *Queue) runUntil(ctx context.Context, end time.Time, register func(*jobs.Runner)) error {
	for {
		if err := q.drain(ctx, register); err != nil {
			return err
		}
		next, err := q.nextDue(ctx)
		if err != nil {
			return err
		}
		if next.IsZero() || next.After(end) {
			q.advanceTo(end)
			return q.drain(ctx, register)
		}
		q.advanceTo(next)
	}
}

func (q *Queue) drain(ctx context.Context, register func(*jobs.Runner)) error {
	for {
		_, fired, err := q.fire(ctx)
		if err == nil {
			err = q.drainJobs(ctx, register)
		}
		if err != nil || !fired {
			return err
		}
	}
}

// drainJobs runs due jobs, also those of queues that only their handlers fill.
func (q *Queue) drainJobs(ctx context.Context, register func(*jobs.Runner)) error {
	var drained []string
	for {
		queues, err := q.queues(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(queues, func(name string) bool { return !slices.Contains(drained, name) }) {
			return ctx.Err()
		}
		drained = queues
		runner, err := q.runner(q.plain(), queues)
		if err != nil {
			return err
		}
		register(runner)
		if err := runner.Drain(ctx); err != nil {
			return err
		}
	}
}

// queues returns the names of the queues that have jobs, and the default queue's.
func (q *Queue) queues(ctx context.Context) ([]string, error) {
	list := []string{jobs.DefaultQueue}
	counts, err := inspect.New(q.Client).Counts(ctx)
	for _, c := range counts {
		if !slices.Contains(list, c.Queue) {
			list = append(list, c.Queue)
		}
	}
	return list, err
}

// fire enqueues the jobs of due schedules, and returns the due time of the next schedule; zero if there is none.
func (q *Queue) fire(ctx context.Context) (next time.Time, fired bool, err error) {
	s := maintenance.Upkeep{
		Store: q.port(), Log: slog.New(slog.DiscardHandler), Declared: core.JSONNames(nil), Changed: func() { fired = true },
	}
	if next, err = s.Once(ctx, q.watched); err != nil {
		return next, fired, fmt.Errorf("serve schedules: %w", err)
	}
	q.watched = q.Now()
	return next, fired, nil
}

// nextDue returns the first time after now at which a job or a schedule is due; zero if there is none.
func (q *Queue) nextDue(ctx context.Context) (time.Time, error) {
	next, _, err := q.fire(ctx)
	counts, failed := inspect.New(q.Client).Counts(ctx)
	for _, c := range counts {
		if c.Status == jobs.StatusScheduled && c.Since.After(q.Now()) {
			next = core.Earlier(next, c.Since)
		}
	}
	return next, errors.Join(err, failed)
}
