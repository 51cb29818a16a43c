package prune

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Chunk is how many rows one transaction removes at most.
const Chunk = 500

// Result is what a pass over the jobs of one status did.
type Result struct {
	Examined, Deleted int64
	FirstRead         time.Duration // of done jobs: how long the first read took, which goes through dead rows
}

// Add adds the result of another pass.
func (r *Result) Add(other Result) {
	r.Examined += other.Examined
	r.Deleted += other.Deleted
	r.FirstRead += other.FirstRead
}

// Jobs removes the jobs of one final status that ended more than age ago. The error is an InvalidError for a status that is
// not final and for a negative age. An error half-way leaves some jobs removed; the result tells how many.
func Jobs(ctx context.Context, s *engine.Scope, status jobtype.Status, age time.Duration) (Result, error) {
	if !status.Final() {
		return Result{}, fmt.Errorf("prune: %w", jobtype.NewInvalidError("status", strconv.Quote(string(status)), "be done, failed or cancelled"))
	}
	if age < 0 {
		return Result{}, fmt.Errorf("prune: %w", jobtype.NewInvalidError("age", age.String(), "not be negative"))
	}
	before := s.Now().Add(-age)
	p := pruner{scope: s, status: status, before: core.Micros(before)}
	var err error
	if p.author, err = audit.Of(ctx); err == nil {
		p.detail, err = p.author.Detail(map[string]any{"filter": map[string]any{"status": status, "finished_before": before.UTC()}})
	}
	var sum Result
	switch {
	case err != nil:
	case status == jobtype.StatusDone:
		sum, err = p.done(ctx)
	default:
		sum, err = p.failed(ctx)
	}
	if err != nil {
		return sum, fmt.Errorf("prune %s jobs: %w", status, err)
	}
	return sum, nil
}

// pruner removes the jobs of one status that ended before a time.
type pruner struct {
	scope  *engine.Scope
	status jobtype.Status
	before int64
	author *audit.Author
	detail json.RawMessage
}

// remove runs one transaction that removes jobs, and returns how many.
func (p pruner) remove(ctx context.Context, some func(context.Context, db.Querier) (int64, error)) (n int64, err error) {
	err = lifecycle.Change(ctx, p.scope, 0, func(ctx context.Context, q db.Querier) error {
		var err error
		if n, err = some(ctx, q); err != nil || n == 0 {
			return err
		}
		return p.author.Record(ctx, q, core.Micros(p.scope.Now()), audit.Entry{Action: jobtype.ActionPrune, Jobs: n, Detail: p.detail})
	})
	return n, err
}

// failed removes jobs that failed or were cancelled, which an index finds.
func (p pruner) failed(ctx context.Context) (sum Result, err error) {
	for {
		n, err := p.remove(ctx, func(ctx context.Context, q db.Querier) (int64, error) {
			return q.DeleteFailedJobs(ctx, db.DeleteFailedJobsParams{Status: string(p.status), Before: p.before, N: Chunk})
		})
		if err != nil {
			return sum, err
		}
		sum.Add(Result{Examined: n, Deleted: n})
		if n < Chunk {
			return sum, nil
		}
	}
}

// done removes done jobs. No index has them, so that a job that ends well costs less. The pass goes through jobs in the order
// of their ids, up to the first one that is too young to have ended before the time. A job that was created in the future
// does not end the pass: some clock was wrong.
func (p pruner) done(ctx context.Context) (sum Result, err error) {
	now, began := core.Micros(p.scope.Now()), time.Now()
	for after := int64(math.MinInt64); ; {
		var step db.GetPruneStepRow
		err := p.scope.ReadAsRunner(ctx, func(ctx context.Context, q db.Querier) error {
			var err error
			step, err = q.GetPruneStep(ctx, db.GetPruneStepParams{Before: p.before, After: after, N: Chunk})
			return err
		})
		if after == math.MinInt64 {
			sum.FirstRead = time.Since(began)
		}
		if err != nil || step.LastID == 0 || step.CreatedAt >= p.before && step.CreatedAt <= now {
			return sum, err
		}
		sum.Examined += Chunk
		if step.Expired > 0 {
			n, err := p.remove(ctx, func(ctx context.Context, q db.Querier) (int64, error) {
				return q.DeleteDoneJobs(ctx, db.DeleteDoneJobsParams{After: after, LastID: step.LastID, Before: p.before})
			})
			if err != nil {
				return sum, err
			}
			sum.Deleted += n
		}
		after = step.LastID
	}
}
