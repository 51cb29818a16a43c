package inspect

import (
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
	total, err := in.retryFailed(ctx, f)
	return total, core.Wrap(err, "retry failed jobs")
}

func (in *Inspector) retryFailed(ctx context.Context, f FailedFilter) (total int64, err error) {
	author, err := audit.Of(ctx)
	if err != nil {
		return 0, err
	}
	detail, err := author.Detail(f.detail())
	if err != nil {
		return 0, err
	}
	f.Limit = chunk
	var refused jobs.RefusedError
	for last := (Failure{}); ; {
		part, err := in.Failures(ctx, f, last)
		if err == nil && len(part) == 0 && refused.N > 0 {
			return total, &refused
		}
		if err != nil || len(part) == 0 {
			return total, err
		}
		last = part[len(part)-1]
		n, err := in.retryPart(ctx, part, author, audit.Entry{Action: ActionRetry, Kind: f.Kind, Detail: detail}, &refused)
		if total += n; err != nil {
			return total, err
		}
	}
}

// retryPart retries those of the jobs that are still failed: some may have been retried or cancelled since they were listed. It adds
// to refused the jobs that the database refuses, and those that other transactions have locked.
func (in *Inspector) retryPart(ctx context.Context, part []Failure, author *audit.Author, entry audit.Entry, refused *jobs.RefusedError) (n int64, err error) {
	ids, failures := make([]int64, len(part)), map[int64]Failure{}
	for i, job := range part {
		ids[i], failures[job.ID] = job.ID, job
	}
	err = changeInParts(ctx, in.scope, ids, refused, func(ctx context.Context, ids []int64) error {
		some := make([]Failure, len(ids))
		for i, id := range ids {
			some[i] = failures[id]
		}
		retried, err := in.retryTogether(ctx, some, author, entry)
		n += retried
		return err
	})
	return n, err
}

// retryTogether does the work of retryPart in one transaction.
func (in *Inspector) retryTogether(ctx context.Context, part []Failure, author *audit.Author, entry audit.Entry) (int64, error) {
	failed := string(jobs.StatusFailed)
	var retried []int64
	err := lifecycle.Change(ctx, in.scope, core.WorkReady, func(ctx context.Context, q db.Querier) error {
		retried = retried[:0]
		now, made := core.Micros(in.scope.Now()), lifecycle.NewTransitions()
		for _, job := range part {
			n, err := q.RequeueJob(ctx, db.RequeueJobParams{Now: now, ID: job.ID, Only: &failed})
			if err != nil {
				return err
			}
			if n > 0 {
				retried = append(retried, job.ID)
				made.Requeue(lifecycle.Ref{Queue: job.Queue, Kind: job.Kind}, jobs.StatusFailed)
			}
		}
		if err := made.Conclude(ctx, q, now); err != nil {
			return err
		}
		entry.JobIDs = retried
		return author.RecordMany(ctx, q, now, entry)
	})
	if err != nil {
		return 0, err
	}
	return int64(len(retried)), nil
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
