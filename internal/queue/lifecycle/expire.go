package lifecycle

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// NotStartedBy returns the message of a job that was not started by its start-by time. ExpireJobs writes the same message.
func NotStartedBy(t time.Time) string {
	return "not started by " + t.UTC().Format("2006-01-02T15:04:05Z")
}

// Expire cancels the listed jobs that had to start by now and were not started, and returns them. It skips jobs that another
// transaction has locked.
func Expire(ctx context.Context, q db.Querier, now int64, ids []int64, made *Transitions) ([]db.ExpireJobsRow, error) {
	expired, err := q.ExpireJobs(ctx, db.ExpireJobsParams{Now: now, Ids: core.JSONIDs(ids)})
	if err != nil || len(expired) == 0 {
		return nil, err
	}
	ended := make([]int64, len(expired))
	for i, job := range expired {
		ended[i] = job.ID
		made.end(Ref{Queue: job.Queue, Kind: job.Kind, UniqueKey: core.Deref(job.UniqueKey), Limit: Limit(job.LimitKey)}, StatusWaiting, jobtype.StatusCancelled)
	}
	return expired, q.RecordExpiredJobs(ctx, db.RecordExpiredJobsParams{Now: now, Ids: core.JSONIDs(ended)})
}
