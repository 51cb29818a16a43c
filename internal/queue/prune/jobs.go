package prune

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Chunk is the largest number of rows that one transaction removes.
const Chunk = 500

// Result counts the work of a pass.
type Result struct {
	Examined, Deleted int64
	FirstRead         time.Duration // the duration of the first read of jobs that no pass had read, which reads dead rows too
	Refused           jobtype.RefusedError
}

// Add adds the result of another pass.
func (r *Result) Add(other Result) {
	r.Examined += other.Examined
	r.Deleted += other.Deleted
	r.FirstRead += other.FirstRead
	r.Refused.Merge(other.Refused)
}

// Jobs removes the jobs of one final status that ended more than age ago. The error is an InvalidError for a status that is not
// final and for a negative age. After an error half-way some jobs are removed; the result has their number. Jobs that the
// database refuses to remove are set aside in notes, and counted in the result; all others are removed. Jobs that were set aside
// before are tried when their time has come.
func Jobs(ctx context.Context, s *engine.Scope, notes *refusal.Notes, status jobtype.Status, age time.Duration) (Result, error) {
	if !status.Final() {
		return Result{}, fmt.Errorf("prune: %w", jobtype.NewInvalidError("status", strconv.Quote(string(status)), "be done, failed or cancelled"))
	}
	if age < 0 {
		return Result{}, fmt.Errorf("prune: %w", jobtype.NewInvalidError("age", age.String(), "not be negative"))
	}
	now := s.Now()
	before := now.Add(-age.Truncate(time.Microsecond)) // as for done jobs, whose rules have whole microseconds
	p := pruner{scope: s, notes: notes, status: status, before: core.Micros(before), now: core.Micros(now)}
	var err error
	if p.author, err = audit.Of(ctx); err == nil {
		p.detail, err = p.author.Detail(map[string]any{"filter": map[string]any{"status": status, "finished_before": before.UTC()}})
	}
	var sum Result
	switch {
	case err != nil:
	case status == jobtype.StatusDone:
		sum, err = walk{pruner: p, keep: Retention{Done: age, Failed: Forever, Cancelled: Forever}, soonest: keepMicros(age)}.all(ctx)
	default:
		sum, err = p.failed(ctx)
	}
	if err != nil {
		return sum, fmt.Errorf("prune %s jobs: %w", status, err)
	}
	return sum, nil
}

// Retry makes the next call of Jobs try the set-aside jobs as well.
func Retry(ctx context.Context, s *engine.Scope) error {
	return s.Write(ctx, 0, func(ctx context.Context, q db.Querier) error {
		_, err := q.RetryRefusals(ctx, db.RetryRefusalsParams{Action: string(refusal.Prune), Now: core.Micros(s.Now())})
		return err
	})
}

// pruner removes the jobs of one status that ended before a time.
type pruner struct {
	scope  *engine.Scope
	notes  *refusal.Notes
	status jobtype.Status
	before int64
	now    int64
	author *audit.Author
	detail json.RawMessage
}

// remove runs one transaction that removes jobs, and returns their number.
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
			return q.DeleteFailedJobs(ctx, db.DeleteFailedJobsParams{Status: string(p.status), Before: p.before, N: Chunk, Now: p.now})
		})
		var part Result
		if err == nil {
			part = Result{Examined: n, Deleted: n}
		} else if p.scope.Store.RefusesRow(err) {
			part, err = p.failedApart(ctx)
		}
		sum.Add(part)
		if err != nil || part.Examined < Chunk {
			return sum, err
		}
	}
}

// failedApart removes the next jobs in ever smaller parts, and sets aside each job that the database refuses to remove.
func (p pruner) failedApart(ctx context.Context) (sum Result, err error) {
	var ids []int64
	err = p.scope.ReadAsRunner(ctx, func(ctx context.Context, q db.Querier) (err error) {
		ids, err = q.ListExpiredJobIDs(ctx, db.ListExpiredJobIDsParams{Status: string(p.status), Before: p.before, Now: p.now, N: Chunk})
		return err
	})
	if err != nil {
		return sum, err
	}
	sum.Examined = int64(len(ids))
	return sum, refusal.Split(ids, p.scope.Store.RefusesRow, func(part []int64) error {
		n, err := p.remove(ctx, func(ctx context.Context, q db.Querier) (sum int64, err error) {
			for _, id := range part {
				n, err := q.DeleteExpiredJob(ctx, db.DeleteExpiredJobParams{ID: id, Status: string(p.status), Before: p.before})
				if err != nil {
					return 0, err
				}
				sum += n
			}
			return sum, nil
		})
		if err == nil {
			sum.Deleted += n
		}
		return err
	}, func(id int64, err error) error { return p.setAside(ctx, &sum, id, err) })
}

// setAside records that the database refuses to remove a job.
func (p pruner) setAside(ctx context.Context, sum *Result, id int64, cause error) error {
	sum.Refused.Add(id, cause)
	return p.notes.Postpone(ctx, func(ctx context.Context, fn func(context.Context, db.Querier) error) error {
		return p.scope.Write(ctx, 0, fn)
	}, p.scope.Now(), refusal.Prune, id, cause)
}
