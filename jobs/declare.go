package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/prune"
)

// Schedule declares schedules, which are put when Run starts: it then returns what is wrong with them. What was put by the runner that
// started last holds. A declared schedule is due only while a runner lives that declares it, so that one that is removed from the code
// ends with the last runner of the old version. It panics after Run has begun. Drain puts no schedules and serves none.
func (r *Runner) Schedule(list ...Schedule) {
	if r.started.Load() {
		panic("jobs: Schedule after Run")
	}
	r.schedules = append(r.schedules, list...)
}

// scheduleRows returns the rows of the declared schedules, or what is wrong with all of them.
func (r *Runner) scheduleRows(now time.Time) (rows []db.PutScheduleParams, err error) {
	seen := map[string]bool{}
	for _, s := range r.schedules {
		row, fault := s.row(r.client, now, true)
		if seen[s.name] {
			fault = errors.Join(fault, errors.New("it is declared twice"))
		}
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("schedule %s: %w", strconv.Quote(s.name), fault))
		}
		seen[s.name] = true
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b db.PutScheduleParams) int { return cmp.Compare(a.Name, b.Name) }) // runners that start together wait in one order
	return rows, err
}

// prepare marks fields of kinds as sensitive, and puts their rules of retention and the declared schedules.
func (r *Runner) prepare(ctx context.Context, schedules []db.PutScheduleParams) error {
	if err := r.client.marks.Ensure(ctx, r.client.scope(), r.marks); err != nil {
		return err
	}
	if err := r.declareRetention(ctx); err != nil || len(schedules) == 0 {
		return err
	}
	for _, s := range r.schedules {
		if err := s.job.mark(ctx, r.client); err != nil {
			return err
		}
	}
	return lifecycle.Change(ctx, r.client.scope(), 0, func(ctx context.Context, q db.Querier) error {
		for _, s := range schedules {
			if err := q.PutSchedule(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// declareRetention puts the rules of the kinds with Keep, and logs what it changes: done jobs may be removed by it.
func (r *Runner) declareRetention(ctx context.Context) error {
	if len(r.keeps) == 0 {
		return nil
	}
	changed, err := prune.Declare(ctx, r.client.scope(), r.keeps)
	for kind, before := range changed {
		callback.Logger(r.config.Logger).Info("the kind's done jobs are kept for another time", "kind", kind, "keep", prune.KeepText(r.keeps[kind]), "before", keptBefore(before))
	}
	return err
}

// keptBefore is the former time of a rule in the log.
func keptBefore(keep time.Duration) string {
	if keep == 0 {
		return "as the runners are configured"
	}
	return prune.KeepText(keep)
}
