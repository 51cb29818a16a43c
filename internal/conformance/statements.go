package conformance

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
)

// fenceList returns the list of attempts for the batch statements.
func fenceList(id, attempt int64) string { return fmt.Sprintf("[[%d,%d]]", id, attempt) }

// statements are some that change one job, by their names; each returns the number of changed rows.
type statements map[string]func(context.Context, db.Querier) (int64, error)

// holderStatements are those that only the holder of a running job may use.
func holderStatements(worker, id, attempt, now int64) statements {
	return statements{
		"CompleteJob": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.CompleteJob(ctx, db.CompleteJobParams{Now: now, ID: id, Attempt: attempt, WorkerID: worker})
		},
		"CompleteJobs": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.CompleteJobs(ctx, db.CompleteJobsParams{
				Now: now, WorkerID: worker, Attempt: attempt, Ids: fmt.Sprintf("[%d]", id),
			})
		},
		"CompleteJobsWithResults": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.CompleteJobsWithResults(ctx, db.CompleteJobsWithResultsParams{
				Now: now, WorkerID: worker, Items: fmt.Sprintf(`[[%d,%d,"2"]]`, id, attempt),
			})
		},
		"RetryJob": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.RetryJob(ctx, db.RetryJobParams{
				Status: "pending", RunAfter: now, LastError: "late", Now: now, ID: id, Attempt: attempt, WorkerID: worker,
			})
		},
		"SnoozeJob": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.SnoozeJob(ctx, db.SnoozeJobParams{
				Status: "pending", RunAfter: now, Now: now, ID: id, Attempt: attempt, WorkerID: worker,
			})
		},
		"FailJob": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.FailJob(ctx, db.FailJobParams{LastError: "late", Now: now, ID: id, Attempt: attempt, WorkerID: worker})
		},
		"CancelRunningJob": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.CancelRunningJob(ctx, db.CancelRunningJobParams{Now: now, ID: id, Attempt: attempt, WorkerID: worker})
		},
		"CancelRequestedJob": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.CancelRequestedJob(ctx, db.CancelRequestedJobParams{Now: now, ID: id, Attempt: attempt, WorkerID: worker})
		},
		"ReleaseJob": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.ReleaseJob(ctx, db.ReleaseJobParams{Now: now, ID: id, Attempt: attempt, WorkerID: worker})
		},
		"SetJobProgress": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.SetJobProgress(ctx, db.SetJobProgressParams{
				ProgressJson: "1", Now: now, ID: id, Attempt: attempt, WorkerID: worker,
			})
		},
		"ExtendLeases": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.ExtendLeases(ctx, db.ExtendLeasesParams{LeaseUntil: now, WorkerID: worker, Items: fenceList(id, attempt)})
		},
	}
}

// peoplesStatements are those by which people change waiting or running jobs.
func peoplesStatements(id, now int64) statements {
	return statements{
		"CancelWaitingJob": func(ctx context.Context, q db.Querier) (int64, error) {
			cancelled, err := q.CancelWaitingJob(ctx, db.CancelWaitingJobParams{Now: now, ID: id})
			return int64(len(cancelled)), err
		},
		"RequestJobCancel": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.RequestJobCancel(ctx, db.RequestJobCancelParams{Now: now, ID: id})
		},
		"RequeueJob": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.RequeueJob(ctx, db.RequeueJobParams{Now: now, ID: id})
		},
	}
}
