package prune

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// Forever keeps jobs until a caller deletes them.
const Forever time.Duration = -1

// Keep is how long jobs are kept after their end, by the status with which they ended: a time, or Forever.
type Keep struct {
	Done, Failed, Cancelled time.Duration
}

// ever is Forever in statements: so long after any end is never.
var ever = core.Micros(core.Latest)

func keepMicros(d time.Duration) int64 {
	if d == Forever {
		return ever
	}
	return min(d.Microseconds(), ever)
}

// micros returns the times as statements take them.
func (k Keep) micros() (done, failed, cancelled int64) {
	return keepMicros(k.Done), keepMicros(k.Failed), keepMicros(k.Cancelled)
}

// walk goes through jobs in the order of their ids. No index has the done ones, so that a job that ends well costs less.
type walk struct {
	pruner
	keep    Keep
	rules   int64 // 1 when rules of the database count before keep
	soonest int64 // no job goes sooner after its end
}

// read looks at the next jobs after one id and up to another. LastID is 0 when there are none.
func (w walk) read(ctx context.Context, after, last int64) (step db.GetPruneStepRow, err error) {
	p := db.GetPruneStepParams{Now: w.now, Soonest: w.soonest, Rules: w.rules, After: after, LastID: last, N: Chunk}
	p.Done, p.Failed, p.Cancelled = w.keep.micros()
	err = w.scope.ReadAsRunner(ctx, func(ctx context.Context, q db.Querier) (err error) {
		step, err = q.GetPruneStep(ctx, p)
		return err
	})
	return step, err
}

// clear removes those jobs of a step that may go, and returns after how long to read the step again.
func (w walk) clear(ctx context.Context, sum *Result, after int64, step db.GetPruneStepRow) (time.Duration, error) {
	before := sum.Deleted
	if step.Expired > 0 {
		if err := w.between(ctx, sum, after, step.LastID); err != nil {
			return 0, err
		}
	}
	wait := (lookAgain + rand.N(lookAgain)).Microseconds() // not all at once
	if step.NextAt >= 0 {
		wait = min(wait, step.NextAt-w.now)
	}
	if sum.Deleted-before < step.Expired {
		wait = min(wait, holdOff.Microseconds())
	}
	return time.Duration(wait) * time.Microsecond, nil
}

// all goes through all jobs, up to the first ones that are too young.
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

// young reports that all jobs of a step were created too late to go. A job that was created in the future does not count: some clock
// was wrong.
func (w walk) young(step db.GetPruneStepRow) bool {
	return step.CreatedAt >= w.now-w.soonest && step.CreatedAt <= w.now
}

// between removes the jobs that may go after one id and up to another: all at once, or, when the database does not let one of them go,
// those of each half.
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
