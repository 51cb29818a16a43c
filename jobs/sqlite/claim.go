package sqlite

import (
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/db/sqliteonly"
	"github.com/sqluice/sqluice/internal/queue/contention"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// manyJobs is the number of jobs from which on two statements, one that lists and one that claims them, take less time than an
// UPDATE that returns rows.
const manyJobs = 8

// leastRange is the number of ids without a gap that get a separate statement. An UPDATE scans a range of ids once, and writes rows
// as it meets them; with a list it parses the ids from JSON, collects them, and looks up one by one.
const leastRange = 8

// claims implements the part of the engine that claims and completes jobs. Its methods run in the writer's transaction.
type claims struct{ writer *writer }

// Backoff implements [engine.Claims].
func (claims) Backoff(workers func() int64) engine.Backoff { return contention.New(workers) }

// ClaimJobs implements [engine.Statements]. It claims in two steps if the previous claim returned many jobs, and otherwise in one
// statement: for few jobs that is cheaper.
func (c claims) ClaimJobs(ctx context.Context, q db.Querier, arg db.ClaimJobsParams, rows []db.ClaimJobsRow) (_ []db.ClaimJobsRow, err error) {
	busy := &c.writer.claimsMany // used by one transaction at a time
	defer func() { *busy = len(rows) >= manyJobs }()
	err = db.Watch(q, "ClaimJobs", func() error {
		if *busy && arg.NoneDueBefore == 0 {
			rows, err = c.inSteps(ctx, q, arg, rows)
		} else {
			rows, err = claimJobs(ctx, c.writer.writes.stmts, arg, rows)
		}
		return err
	})
	return rows, err
}

// inSteps lists jobs and then claims them. No other write comes between the two.
func (c claims) inSteps(ctx context.Context, q db.Querier, arg db.ClaimJobsParams, rows []db.ClaimJobsRow) ([]db.ClaimJobsRow, error) {
	only := c.writer.writes.only
	rows, err := listClaimableJobs(ctx, c.writer.writes.stmts, listClaimableJobsParamsOf(arg), rows)
	if err != nil || len(rows) == 0 {
		return rows, err // the caller keeps the memory of the empty list
	}
	ids := core.Map(rows, func(row db.ClaimJobsRow) int64 { return row.ID })
	started, err := inRanges(ids, func(r core.IDRange) (int64, error) {
		return only.StartJobRange(ctx, sqliteonly.StartJobRangeParams{
			WorkerID: arg.WorkerID, LeaseUntil: arg.LeaseUntil, Now: arg.Now, Prefetch: arg.Prefetch, First: r.First, Last: r.Last,
		})
	}, func(rest string) (int64, error) {
		return only.StartJobs(ctx, sqliteonly.StartJobsParams{
			WorkerID: arg.WorkerID, LeaseUntil: arg.LeaseUntil, Now: arg.Now, Prefetch: arg.Prefetch, Ids: rest,
		})
	})
	if err == nil && started != int64(len(rows)) {
		rows, err = heldJobs(ctx, q, arg.WorkerID, rows)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// heldJobs returns the rows of those jobs that a worker holds: it omits a job whose claim a trigger of the application ignored.
func heldJobs(ctx context.Context, q db.Querier, worker int64, rows []db.ClaimJobsRow) ([]db.ClaimJobsRow, error) {
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

// PrefetchBytes implements [engine.Claims]. A connection's page cache is 2 MB, which the jobs for free slots alone may fill: of a larger
// claim, pages are written and read again before its commit.
func (claims) PrefetchBytes() int { return 128 << 10 }

// HasClaimableJobs implements [engine.Claims].
func (c claims) HasClaimableJobs(ctx context.Context, q db.Querier, arg db.HasClaimableJobsParams) (bool, error) {
	n, err := q.HasClaimableJobs(ctx, arg)
	return n > 0, err
}

// ClaimableQueues implements [engine.Claims].
func (c claims) ClaimableQueues(ctx context.Context, q db.Querier, kinds string, queues []string) ([]string, error) {
	return engine.ClaimableQueues(ctx, q, kinds, queues)
}

// CompleteJobs implements [engine.Statements].
func (c claims) CompleteJobs(ctx context.Context, q db.Querier, now int64, done engine.Completion) (int64, error) {
	only := c.writer.writes.only
	return inRanges(done.IDs, func(r core.IDRange) (completed int64, err error) {
		err = db.Watch(q, "CompleteJobs", func() error {
			completed, err = only.CompleteJobRange(ctx, sqliteonly.CompleteJobRangeParams{
				Now: now, First: r.First, Last: r.Last, Attempt: done.Attempt, WorkerID: done.WorkerID,
			})
			return err
		})
		return completed, err
	}, func(rest string) (int64, error) {
		return q.CompleteJobs(ctx, db.CompleteJobsParams{Now: now, WorkerID: done.WorkerID, Attempt: done.Attempt, Ids: rest})
	})
}

// inRanges sorts the ids, and writes the rows of each long range by one statement, and those of all other ids, a JSON list, by
// another. It returns the number of rows written.
func inRanges(ids []int64, inRange func(core.IDRange) (int64, error), inList func(string) (int64, error)) (written int64, err error) {
	ranges, rest := core.IDRanges(ids, leastRange)
	for _, r := range ranges {
		n, err := inRange(r)
		if err != nil {
			return 0, err
		}
		written += n
	}
	if len(rest) == 0 {
		return written, nil
	}
	n, err := inList(core.JSONIDs(rest))
	return written + n, err
}
