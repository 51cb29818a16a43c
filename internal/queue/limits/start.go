package limits

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/runner"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// start starts the dealt number of jobs of each lane, and notes the starts.
func (c *claimer) start(ctx context.Context, d *deal) ([]runner.Claimed, error) {
	if d.total() == 0 {
		return nil, nil
	}
	rows, err := c.startJobs(ctx, d)
	if err != nil || len(rows) == 0 {
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
	c.spend(started, d)
	return jobs, nil
}

// startJobs starts the best jobs of lanes, and the first jobs of sequences. The error of a claim of one job has its id.
func (c *claimer) startJobs(ctx context.Context, d *deal) (rows []db.StartWaitingJobsRow, err error) {
	free, firsts := d.firsts()
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
		if rows, err = c.startBest(ctx, d, free); err != nil {
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

// startBest starts the best jobs of lanes, in a statement for each size of a share.
func (c *claimer) startBest(ctx context.Context, d *deal, lanes []key) (rows []db.StartWaitingJobsRow, err error) {
	least := int64(jobtype.MinPriority)
	if d.rounds > 0 {
		least = d.least
	}
	of := map[int64][]key{}
	for _, lane := range lanes {
		of[d.shares[lane]] = append(of[d.shares[lane]], lane)
	}
	for _, n := range slices.Sorted(maps.Keys(of)) {
		list, err := c.q.StartLaneJobs(ctx, db.StartLaneJobsParams{
			Now: c.now, WorkerID: c.by.WorkerID, LeaseUntil: c.leaseUntil(), Keys: keys(of[n]), Queue: c.queue, Least: least, N: n,
		})
		if err != nil {
			return nil, fmt.Errorf("start the jobs of lanes: %w", err)
		}
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
	return runner.Claimed{LimitKey: &key, Row: db.ClaimJobsRow{
		ID: row.ID, Kind: row.Kind, Payload: row.Payload, Priority: row.Priority, RunAfter: row.RunAfter, StartBy: row.StartBy,
		Attempt: row.Attempt, Uncounted: row.Uncounted, MaxAttempts: row.MaxAttempts, Crashes: row.Crashes, Timeout: row.Timeout,
		UniqueKey: row.UniqueKey, RequestID: row.RequestID, UserID: row.UserID, Tags: row.Tags, Metadata: row.Metadata, CreatedAt: row.CreatedAt,
	}}
}

// spend counts the starts of keys, and of whole kinds and queues, and keeps those of limits with a rate for leave.
func (c *claimer) spend(started map[key]int64, d *deal) {
	whole := map[*state]int64{}
	for lane, n := range started {
		if until := d.states[lane].spend(c.now, n); until > 0 {
			c.spent = append(c.spent, [4]any{core.ScopeKind, lane.kind, lane.key, until})
		}
		for _, s := range d.wholes.of(lane.kind, c.queue) {
			whole[s] += n
		}
	}
	for of, s := range d.wholes {
		if until := s.spend(c.now, whole[s]); whole[s] > 0 && until > 0 {
			c.spent = append(c.spent, [4]any{of.Scope, of.Name, "", until})
		}
	}
}
