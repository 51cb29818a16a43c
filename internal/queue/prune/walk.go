package prune

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sqluice/sqluice/db"
)

// walk reads jobs in the order of their ids. No index has the done ones, so that a job that ends well costs less.
type walk struct {
	pruner
	keep    Retention
	rules   int64 // 1 when rules of the database take precedence over keep
	soonest int64 // the shortest time, in microseconds, from the end of a job to its removal
}

// read reads a step: the next jobs after one id and up to another. LastID is 0 when there are none.
func (w walk) read(ctx context.Context, after, last int64) (step db.GetPruneStepRow, err error) {
	p := db.GetPruneStepParams{Now: w.now, Soonest: w.soonest, Rules: w.rules, After: after, LastID: last, N: Chunk}
	p.Done, p.Failed, p.Cancelled = w.keep.micros()
	err = w.scope.ReadAsRunner(ctx, func(ctx context.Context, q db.Querier) (err error) {
		step, err = q.GetPruneStep(ctx, p)
		return err
	})
	return step, err
}

// clear removes the jobs of a step whose time has passed, and returns the time after which to read the step again.
func (w walk) clear(ctx context.Context, sum *Result, after int64, step db.GetPruneStepRow) (time.Duration, error) {
	before := sum.Deleted
	if step.Expired > 0 {
		if err := w.between(ctx, sum, after, step.LastID); err != nil {
			return 0, err
		}
	}
	wait := (lookAgain + rand.N(lookAgain)).Microseconds() // spread, so that ranges are not all read at once
	if step.NextAt >= 0 {
		wait = min(wait, step.NextAt-w.now)
	}
	if sum.Deleted-before < step.Expired {
		wait = min(wait, holdOff.Microseconds())
	}
	return time.Duration(wait) * time.Microsecond, nil
}

// all reads all jobs, up to the first ones that are too young.
func (w walk) all(ctx context.Context) (sum Result, err error) {
	for after := int64(math.MinInt64); ; {
		step, err := w.read(ctx, after, math.MaxInt64)
		if err != nil || step.LastID == 0 || w.young(step) {
			return sum, err
		}
		sum.Examined += Chunk
		if _, err := w.clear(ctx, &sum, after, step); err != nil {
			return sum, err
		}
		after = step.LastID
	}
}

// young reports whether all jobs of a step were created too late to be removed. A job that was created in the future does not count:
// some clock was wrong.
func (w walk) young(step db.GetPruneStepRow) bool {
	return step.CreatedAt >= w.now-w.soonest && step.CreatedAt <= w.now
}

// between removes the jobs whose time has passed after one id and up to another: all at once, or, when the database refuses to remove
// one of them, in two halves.
func (w walk) between(ctx context.Context, sum *Result, after, last int64) error {
	p := db.DeleteExpiredJobsParams{After: after, LastID: last, Now: w.now, Rules: w.rules}
	p.Done, p.Failed, p.Cancelled = w.keep.micros()
	n, err := w.remove(ctx, func(ctx context.Context, q db.Querier) (int64, error) { return q.DeleteExpiredJobs(ctx, p) })
	switch {
	case err == nil:
		sum.Deleted += n
		return nil
	case !w.scope.Store.RefusesRow(err):
		return err
	case last-max(after, 0) <= 1: // ids begin at 1
		return w.setAside(ctx, sum, last, err)
	}
	middle := max(after, 0) + (last-max(after, 0))/2
	if err := w.between(ctx, sum, after, middle); err != nil {
		return err
	}
	return w.between(ctx, sum, middle, last)
}
