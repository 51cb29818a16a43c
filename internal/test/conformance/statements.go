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

// holderStatements returns the statements that only the holder of a running job may use.
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
		"EndJob": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.EndJob(ctx, db.EndJobParams{Status: "failed", Now: now, ID: id, Attempt: attempt, WorkerID: worker})
		},
		"EndJob on request": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.EndJob(ctx, db.EndJobParams{Status: "cancelled", OnlyRequested: 1, Now: now, ID: id, Attempt: attempt, WorkerID: worker})
		},
		"ReturnJob": func(ctx context.Context, q db.Querier) (int64, error) {
			return q.ReturnJob(ctx, db.ReturnJobParams{Status: "pending", Now: now, ID: id, Attempt: attempt, WorkerID: worker})
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

// peoplesStatements returns the statements by which people change waiting or running jobs.
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
