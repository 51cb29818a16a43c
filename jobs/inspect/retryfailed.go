package inspect

import (
	"cmp"
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs"
)

// RetryFailed makes all failed jobs that match the filter due now and returns their number. It works in transactions of a few hundred,
// so an error half-way leaves some of them retried. Jobs whose unique key another live job holds stay failed. The error is a
// [jobs.RefusedError], as for RetryMany, when the database refused some of them, or when other transactions had locked some: all
// others are retried. It ignores the filter's Limit.
func (in *Inspector) RetryFailed(ctx context.Context, f FailedFilter) (int64, error) {
	b := bulk{in: in, signals: core.WorkReady, entry: audit.Entry{Action: ActionRetry, Kind: f.Kind}}
	err := b.authorise(ctx, f.detail())
	if err == nil {
		err = b.retryFailed(ctx, f)
	}
	return int64(b.changed), core.Wrap(err, "retry failed jobs")
}

// retryFailed retries those of the matching jobs that are still failed: some may have been retried or cancelled since they were listed.
func (b *bulk) retryFailed(ctx context.Context, f FailedFilter) error {
	failures, failed := map[int64]Failure{}, string(jobs.StatusFailed)
	b.request = func(ctx context.Context, q db.Querier, now, id int64, _ lifecycle.Options, made *lifecycle.Transitions) error {
		n, err := q.RequeueJob(ctx, db.RequeueJobParams{Now: now, ID: id, Only: &failed})
		if err != nil || n == 0 {
			return cmp.Or(err, jobs.ErrStatus)
		}
		made.Requeue(lifecycle.Ref{Queue: failures[id].Queue, Kind: failures[id].Kind}, jobs.StatusFailed)
		return nil
	}
	f.Limit = chunk
	for last := (Failure{}); ; {
		part, err := b.in.Failures(ctx, f, last)
		if err == nil && len(part) == 0 && b.refused.N > 0 {
			return &b.refused
		}
		if err != nil || len(part) == 0 {
			return err
		}
		last = part[len(part)-1]
		clear(failures)
		ids := make([]int64, len(part))
		for i, job := range part {
			ids[i], failures[job.ID] = job.ID, job
		}
		if err := b.change(ctx, ids); err != nil {
			return err
		}
	}
}

// detail returns the audit log's description of the filter.
func (f FailedFilter) detail() any {
	filter := map[string]any{"status": jobs.StatusFailed}
	if f.Kind != "" {
		filter["kind"] = f.Kind
	}
	if !f.Since.IsZero() {
		filter["since"] = f.Since
	}
	return map[string]any{"filter": filter}
}
