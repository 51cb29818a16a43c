package lifecycle

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Finish writes the ends of attempts as they are, for every way in which a worker ends one: Hide comes before it. It returns the ends
// that were refused because the lease was lost, and sets Recorded. Attempts that ended well go in one statement; the others, which are
// rarer, one by one. To made it adds only changes that happen here, except that an end which was recorded before has its successor released.
func Finish(ctx context.Context, store engine.Store, q db.Querier, now time.Time, ends []*End, made *Transitions) (lost []*End, err error) {
	f := finisher{q: q, now: now, made: made}
	groups, others := split(ends, func(*End) bool { return false })
	if err := f.writeEach(ctx, others); err != nil {
		return nil, err
	}
	done := make([]engine.Completed, len(groups))
	if areLimited(groups) && store.LocksRows() && !made.unhandled() {
		all, err := f.completeTogether(ctx, groups, done)
		if err != nil || all {
			return f.lost, err
		}
	} else {
		for i, g := range groups {
			if done[i], err = engine.Complete(ctx, q, store.Claims(), core.Micros(now), g.Complete()); err != nil {
				return nil, err
			}
		}
	}
	refused, err := Settle(ctx, q, now, groups, done, made)
	if err == nil {
		err = made.ReactEarly(ctx, q, core.Micros(now)) // before the cycle looks for due jobs
	}
	return append(f.lost, refused...), err
}

// writeEach writes ends one by one, and together only the ends of attempts that did not start.
func (f *finisher) writeEach(ctx context.Context, ends []*End) error {
	var unstarted []*End
	for _, e := range ends {
		var written bool
		var err error
		switch e.Fate {
		case FateReturn:
			unstarted = append(unstarted, e)
			continue
		case FateDone:
			written, err = f.complete(ctx, e)
		default:
			written, err = f.other(ctx, e)
		}
		if err != nil {
			return err
		}
		if !written {
			f.lost = append(f.lost, e)
		}
	}
	return f.returned(ctx, unstarted)
}

// Return releases jobs whose handlers were not called. It skips jobs that another worker holds now.
func Return(ctx context.Context, q db.Querier, now time.Time, ends []*End, made *Transitions) error {
	f := finisher{q: q, now: now, made: made}
	for _, e := range ends {
		e.Recorded = e.Fate
	}
	return f.returned(ctx, ends)
}

// ReleaseHeld releases all jobs of a worker that left a goodbye because it could not record their ends. It returns their number. It
// records no transitions: a goodbye of PostgreSQL sends these statements without reading their results.
func ReleaseHeld(ctx context.Context, q db.Querier, now, worker int64) (int64, error) {
	if err := trimHeld(ctx, q, worker); err != nil {
		return 0, err
	}
	if err := q.RecordHeldJobs(ctx, db.RecordHeldJobsParams{Now: now, WorkerID: worker}); err != nil {
		return 0, err
	}
	n, err := q.ReleaseHeldJobs(ctx, db.ReleaseHeldJobsParams{Now: now, WorkerID: worker})
	if err == nil {
		_, err = q.WakeAllLanes(ctx, now)
	}
	return n, err
}

// ReleaseUnstarted releases one job whose handler was not called. It reports whether the worker still held the job.
func ReleaseUnstarted(ctx context.Context, q db.Querier, now, job, attempt, worker int64) (bool, error) {
	row, err := q.GetJobFence(ctx, job)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	status := ready(row.LimitKey)
	n, err := q.ReturnJob(ctx, db.ReturnJobParams{
		Status: string(status), Uncounted: 1, Now: now, ID: job, Attempt: attempt, WorkerID: worker,
	})
	if err != nil || n == 0 {
		return false, err
	}
	err = q.AddJobError(ctx, db.AddJobErrorParams{
		JobID: job, Attempt: attempt, WorkerID: worker, EndedAt: now, Cause: string(jobtype.CauseReleased),
	})
	if err != nil {
		return false, err
	}
	made := NewTransitions()
	made.LeaveRunning(Ref{Queue: row.Queue, Kind: row.Kind, Limit: Limit(row.LimitKey)}, FateReturn, status)
	return true, made.Conclude(ctx, q, now)
}

// Snooze writes the FateSnooze of one attempt whose handler was not called. It does nothing when the lease was lost.
func Snooze(ctx context.Context, q db.Querier, now time.Time, e *End, made *Transitions) error {
	f := finisher{q: q, now: now, made: made}
	e.Recorded, e.Unstarted = e.Fate, true
	_, err := f.other(ctx, e)
	return err
}

// finisher writes ends in one transaction.
type finisher struct {
	q    db.Querier
	now  time.Time
	made *Transitions
	lost []*End
}

// complete writes the end of one attempt that ended well: with a large result, which is not wrapped in JSON for a batch, or
// an end that may have been recorded before, which then is not counted twice.
func (f *finisher) complete(ctx context.Context, e *End) (bool, error) {
	n, err := f.q.CompleteJob(ctx, db.CompleteJobParams{
		ResultJson: e.Result, Now: core.Micros(f.now), ID: e.Job.ID, Attempt: int64(e.Job.Attempt), WorkerID: e.Job.WorkerID,
	})
	if err != nil {
		return false, err
	}
	if n == 0 {
		return f.ended(ctx, e)
	}
	e.leave(f.made, jobtype.StatusDone)
	return true, nil
}

// ready returns the status of a job that may start again at once: with a limit key it must get its place in a lane first.
func ready(limitKey *string) jobtype.Status {
	if limitKey != nil {
		return jobtype.StatusScheduled
	}
	return jobtype.StatusPending
}

// returned releases jobs whose handlers were not called.
func (f *finisher) returned(ctx context.Context, ends []*End) error {
	groups := unstarted(ends)
	if err := f.trimReturned(ctx, groups); err != nil {
		return err
	}
	for _, g := range groups {
		group := g.Ends
		to := ready(group[0].Job.LimitKey)
		release := db.ReleaseJobsParams{
			Status: string(to), Now: core.Micros(f.now), WorkerID: g.Completion.WorkerID, Attempt: g.Completion.Attempt, Ids: core.JSONIDs(ids(group)),
		}
		if err := f.q.RecordReleasedJobs(ctx, db.RecordReleasedJobsParams{
			Now: release.Now, WorkerID: release.WorkerID, Attempt: release.Attempt, Ids: release.Ids,
		}); err != nil {
			return err
		}
		released, err := f.q.ReleaseJobs(ctx, release)
		if err != nil {
			return err
		}
		for _, e := range group {
			if len(released) == len(group) || slices.Contains(released, e.Job.ID) {
				e.leave(f.made, to)
				continue
			}
			f.made.unknown = f.made.unknown || e.Apart
			if _, err := f.cancelRequested(ctx, e); err != nil { // perhaps a caller has meanwhile asked to cancel the job
				return err
			}
		}
	}
	return nil
}

// ended reports whether an end that no statement could write was recorded before. If not, another process has changed the
// job. It cannot recognize a change by another process that ended the job and left this attempt's fence in the row.
func (f *finisher) ended(ctx context.Context, e *End) (bool, error) {
	if !e.Apart {
		return false, nil
	}
	row, err := f.q.GetJobFence(ctx, e.Job.ID)
	status := jobtype.Status(row.Status)
	ended := err == nil && status.Final() && (e.Fate != FateDone || status == jobtype.StatusDone) && e.isIn(row)
	if core.NotFound(err) == jobtype.ErrNotFound {
		err, status, ended = nil, StatusRemoved, e.Drop && (e.Completed || e.Fate == FateDone) // its row was removed
	}
	if ended {
		f.made.end(refOf(e.Job), status, status) // CompleteTx releases no successor
	}
	return ended, err
}
