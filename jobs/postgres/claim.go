package postgres

import (
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// ClaimJobs implements [engine.Store]. The claim begins where earlier ones have come to: see cursors.
func (s *backend) ClaimJobs(ctx context.Context, q db.Querier, arg db.ClaimJobsParams) (rows []db.ClaimJobsRow, committed func(), err error) {
	v, err := s.cursors.from(ctx, arg.Queue, arg.Kinds, func(cursors string) (_ int, err error) {
		arg.Cursors = cursors
		rows, err = q.ClaimJobs(ctx, arg)
		return len(rows), err
	})
	return rows, func() { s.cursors.claimed(v, arg.Now, rows) }, err
}

// HasClaimableJobs implements [engine.Store].
func (s *backend) HasClaimableJobs(ctx context.Context, q db.Querier, arg db.HasClaimableJobsParams) (found bool, err error) {
	_, err = s.cursors.from(ctx, arg.Queue, arg.Kinds, func(cursors string) (int, error) {
		arg.Cursors = cursors
		n, err := q.HasClaimableJobs(ctx, arg)
		found = n > 0
		return 1, err
	})
	return found, err
}

// enqueueClaimed inserts a job as claimed, unless others wait before it, for which it looks as a claim does.
func (s *backend) enqueueClaimed(ctx context.Context, q db.Querier, arg db.EnqueueClaimedJobParams) (row db.EnqueueClaimedJobRow, committed func(), err error) {
	v, err := s.cursors.from(ctx, arg.Queue, arg.Kinds, func(cursors string) (_ int, err error) {
		arg.Cursors = cursors
		row, err = q.EnqueueClaimedJob(ctx, arg)
		return 1, err
	})
	return row, func() {
		s.cursors.claimed(v, arg.Now, []db.ClaimJobsRow{db.ClaimJobsRow(row)})
	}, err
}

// CompleteJobs implements [engine.Store].
func (s *backend) CompleteJobs(ctx context.Context, q db.Querier, c engine.Completion) (int64, error) {
	return q.CompleteJobs(ctx, db.CompleteJobsParams{Now: c.Now, WorkerID: c.WorkerID, Attempt: c.Attempt, Ids: core.JSONIDs(c.IDs)})
}
