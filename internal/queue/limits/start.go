package limits

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/runner"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// start starts up to n jobs, as dealt to the lanes, and settles that. Where all lanes of the claim before had the jobs of their shares, the
// settlement goes with the starts, in one round trip. It is written anew if a lane has fewer jobs this time.
func (c *claimer) start(ctx context.Context, d *deal, n int64) ([]runner.Claimed, error) {
	total := d.total()
	free, firsts := d.firsts()
	var expected *deal
	var after settlement
	if c.memory.tookAll && total > 1 && len(firsts) == 0 {
		expected = d.copy()
		after = expected.settle(expected.takeAll(), c, total == n)
	}
	rows, err := c.startJobs(ctx, d, free, firsts, after.calls(c.queue))
	if err != nil {
		return nil, err
	}
	started := make(map[key]int64, len(d.lanes))
	jobs := make([]runner.Claimed, len(rows))
	for i := range rows {
		lane := key{rows[i].Kind, rows[i].LimitKey}
		d.take(lane)
		started[lane]++
		jobs[i] = claimed(&rows[i])
	}
	tookAll := int64(len(rows)) == total
	if total > 0 {
		c.memory.tookAll = tookAll
	}
	if expected != nil && tookAll {
		d.become(expected)
		return jobs, c.removeEmpty(ctx, d, after)
	}
	if expected != nil { // the starts that were expected are written: others take their place, also none
		for lane := range d.shares {
			started[lane] += 0
		}
	}
	after = d.settle(started, c, int64(len(rows)) == n)
	if err := db.Together(ctx, c.q, after.calls(c.queue)...); err != nil {
		return nil, fmt.Errorf("note starts, and when lanes are ready: %w", err)
	}
	return jobs, c.removeEmpty(ctx, d, after)
}

// startJobs starts the best jobs of lanes, then runs the calls after, and starts the first jobs of sequences. The error of a claim of one job
// has its id.
func (c *claimer) startJobs(ctx context.Context, d *deal, free []key, firsts []int64, after []db.Call) (rows []db.StartWaitingJobsRow, err error) {
	var ids []int64
	switch {
	case len(free) == 0:
	case d.total() == 1:
		list, err := c.q.LockLaneJobs(ctx, db.LockLaneJobsParams{Keys: keys(free), Queue: c.queue, Now: c.now, N: 1})
		if err != nil {
			return nil, fmt.Errorf("lock the job of a lane: %w", err)
		}
		for _, row := range list {
			ids = append(ids, row.ID)
		}
	default:
		if rows, err = c.startBest(ctx, d, free, after); err != nil {
			return nil, err
		}
	}
	if len(firsts) > 0 {
		list, err := c.q.LockFirstJobs(ctx, db.LockFirstJobsParams{Ids: core.JSONIDs(firsts), Queue: c.queue, Now: c.now})
		if err != nil {
			return nil, fmt.Errorf("lock the first jobs of sequences: %w", err)
		}
		for _, row := range list {
			ids = append(ids, row.ID)
		}
	}
	listed, err := c.startListed(ctx, ids)
	return append(rows, listed...), err
}

// startBest starts the best jobs of lanes, in a statement for each size of a share, and runs the calls after in the same round trip.
func (c *claimer) startBest(ctx context.Context, d *deal, lanes []key, after []db.Call) (rows []db.StartWaitingJobsRow, err error) {
	least := int64(jobtype.MinPriority)
	if d.rounds > 0 {
		least = d.least
	}
	of := map[int64][]key{}
	for _, lane := range lanes {
		of[d.shares[lane]] = append(of[d.shares[lane]], lane)
	}
	sizes := slices.Sorted(maps.Keys(of))
	lists := make([][]db.StartLaneJobsRow, len(sizes))
	var calls []db.Call
	for i, n := range sizes {
		calls = append(calls, db.StartLaneJobsCall{Into: &lists[i], Arg: db.StartLaneJobsParams{
			Now: c.now, WorkerID: c.by.WorkerID, LeaseUntil: c.leaseUntil(), Keys: keys(of[n]), Queue: c.queue, Least: least, N: n,
		}})
	}
	if err := db.Together(ctx, c.q, append(calls, after...)...); err != nil {
		return nil, fmt.Errorf("start the jobs of lanes: %w", err)
	}
	for _, list := range lists {
		for _, row := range list {
			rows = append(rows, db.StartWaitingJobsRow(row))
		}
	}
	return rows, nil
}

// startListed starts locked jobs.
func (c *claimer) startListed(ctx context.Context, ids []int64) ([]db.StartWaitingJobsRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := c.q.StartWaitingJobs(ctx, db.StartWaitingJobsParams{
		Now: c.now, WorkerID: c.by.WorkerID, LeaseUntil: c.leaseUntil(), Ids: core.JSONIDs(ids),
	})
	if err != nil && len(ids) == 1 {
		return nil, fmt.Errorf("start a waiting job: %w", &runner.ClaimError{JobID: ids[0], Err: err})
	}
	return rows, core.Wrap(err, "start waiting jobs")
}

// leaseUntil returns the end of the leases that the claim gives.
func (c *claimer) leaseUntil() int64 { return c.now + c.by.Lease.Microseconds() }

// claimed returns the job of a row.
func claimed(row *db.StartWaitingJobsRow) runner.Claimed {
	key := row.LimitKey // a copy: the other rows go
	return runner.Claimed{LimitKey: &key, Row: jobrow.OfLane(row)}
}
