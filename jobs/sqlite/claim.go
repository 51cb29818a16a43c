package sqlite

import (
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// manyJobs is from how many jobs on two statements, one that lists them and one that hands them over, take less than an UPDATE that
// returns rows.
const manyJobs = 8

// ClaimJobs implements [engine.Store]. It claims in two steps after a claim that gave many jobs, and else in one statement: for few
// jobs that is cheaper.
func (s *backend) ClaimJobs(ctx context.Context, q db.Querier, arg db.ClaimJobsParams) (rows []db.ClaimJobsRow, committed func(), err error) {
	busy := &s.writer.claimsMany // one transaction at a time uses it
	defer func() { *busy = len(rows) >= manyJobs }()
	if *busy && arg.NoneDueBefore == 0 {
		rows, err = claimInSteps(ctx, q, arg)
	} else {
		rows, err = q.ClaimJobs(ctx, arg)
	}
	return rows, nil, err
}

func claimInSteps(ctx context.Context, q db.Querier, arg db.ClaimJobsParams) ([]db.ClaimJobsRow, error) {
	list, err := q.ListClaimableJobs(ctx, db.ListClaimableJobsParams{
		Kinds: arg.Kinds, Queue: arg.Queue, Now: arg.Now, N: arg.N, WorkerID: arg.WorkerID,
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	rows, ids := make([]db.ClaimJobsRow, len(list)), make([]int64, len(list))
	for i, row := range list {
		rows[i], ids[i] = db.ClaimJobsRow(row), row.ID
	}
	started, err := q.StartJobs(ctx, db.StartJobsParams{WorkerID: arg.WorkerID, LeaseUntil: arg.LeaseUntil, Now: arg.Now, Ids: core.JSONIDs(ids)})
	if err == nil && started != int64(len(rows)) {
		rows, err = held(ctx, q, arg.WorkerID, rows)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// held returns the rows of those jobs that a worker holds: it leaves out a job whose claim a trigger of the application ignored.
func held(ctx context.Context, q db.Querier, worker int64, rows []db.ClaimJobsRow) ([]db.ClaimJobsRow, error) {
	var held []db.ClaimJobsRow
	for _, row := range rows {
		fence, err := q.GetJobFence(ctx, row.ID)
		if err != nil {
			return nil, err
		}
		if fence.Status == string(jobs.StatusRunning) && fence.WorkerID == worker && fence.Attempt == row.Attempt {
			held = append(held, row)
		}
	}
	return held, nil
}

// HasClaimableJobs implements [engine.Store].
func (s *backend) HasClaimableJobs(ctx context.Context, q db.Querier, arg db.HasClaimableJobsParams) (bool, error) {
	n, err := q.HasClaimableJobs(ctx, arg)
	return n > 0, err
}
