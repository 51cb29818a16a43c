package runner

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// resultsMost is about how many bytes of results one transaction writes.
const resultsMost = 4 << 20

// largeResult is from when on a result goes by itself, in bytes.
const largeResult = 32 << 10

// completer writes the ends of attempts.
type completer struct {
	*env
	*state
	rollup *maintenance.Rollup
}

// record writes outcomes, inside the producer's transaction, and returns those that were refused because the lease was
// lost. Attempts that ended well go in one statement; the others, which are rarer, one by one. It notes in done what
// becomes of jobs here, and not what had become of them before.
func (c *completer) record(ctx context.Context, q db.Querier, outcomes []outcome, done stats.Changes) (lost []outcome, err error) {
	if err := withhold(ctx, q, outcomes); err != nil {
		return nil, err
	}
	plain, withResult, returned := map[holder][]outcome{}, map[holder][]outcome{}, map[holder][]outcome{}
	for i, o := range outcomes {
		o.attempt.recorded = o.fate
		switch {
		case o.fate == fateReturn:
			addByHolder(returned, o, len(outcomes)-i)
		case o.fate != fateDone:
			ok, err := c.recordOne(ctx, q, o, done)
			if err != nil {
				return nil, err
			}
			if !ok {
				lost = append(lost, o)
			}
		case o.apart || o.result != nil && len(*o.result) > largeResult:
			ok, err := c.recordAlone(ctx, q, o, done)
			if err != nil {
				return nil, err
			}
			if !ok {
				lost = append(lost, o)
			}
		case o.result == nil:
			addByHolder(plain, o, len(outcomes)-i)
		default:
			addByHolder(withResult, o, len(outcomes)-i)
		}
	}
	now := core.Micros(c.store.Now())
	for h, group := range plain {
		n, err := q.CompleteJobs(ctx, db.CompleteJobsParams{Now: now, WorkerID: h.worker, Attempt: h.attempt, Ids: ids(group)})
		if err == nil {
			lost, err = c.completed(ctx, q, group, n, done, lost)
		}
		if err != nil {
			return nil, err
		}
	}
	for h, group := range withResult {
		n, err := q.CompleteJobsWithResults(ctx, db.CompleteJobsWithResultsParams{Now: now, WorkerID: h.worker, Items: fences(group)})
		if err == nil {
			lost, err = c.completed(ctx, q, group, n, done, lost)
		}
		if err != nil {
			return nil, err
		}
	}
	for h, group := range returned {
		if err := c.recordReturned(ctx, q, h, group, now, done); err != nil {
			return nil, err
		}
	}
	return lost, nil
}

// recordReturned releases jobs whose handlers were not called. Those that another worker holds now are not counted as lost.
func (c *completer) recordReturned(ctx context.Context, q db.Querier, h holder, group []outcome, now int64, done stats.Changes) error {
	n, err := q.ReleaseJobs(ctx, db.ReleaseJobsParams{Now: now, WorkerID: h.worker, Attempt: h.attempt, Ids: ids(group)})
	if err != nil || n == int64(len(group)) {
		return err
	}
	for _, o := range group { // a caller may have requested the cancellation meanwhile
		n, err := q.CancelRequestedJob(ctx, db.CancelRequestedJobParams{Now: now, ID: o.attempt.job.ID, Attempt: h.attempt, WorkerID: h.worker})
		if err != nil {
			return err
		}
		if n > 0 {
			done.Ended(o.attempt.job.Queue, o.attempt.job.Kind, jobtype.StatusCancelled, 1)
		}
	}
	return nil
}

// recordAlone writes the end of one attempt that ended well: a large result, which is not wrapped in JSON for a batch, and
// one that may have been recorded before, which then is not counted twice.
func (c *completer) recordAlone(ctx context.Context, q db.Querier, o outcome, done stats.Changes) (bool, error) {
	n, err := q.CompleteJob(ctx, db.CompleteJobParams{
		ResultJson: o.result, Now: core.Micros(c.store.Now()), ID: o.attempt.job.ID,
		Attempt: int64(o.attempt.job.Attempt), WorkerID: o.attempt.job.WorkerID,
	})
	if err != nil {
		return false, err
	}
	if n == 0 {
		return c.ended(ctx, q, o)
	}
	noteOutcome(done, o)
	return true, nil
}

// completed notes for the counts that n of a group were completed, and adds the others, who have lost their lease, to lost.
// None of a group may have been recorded before, so what is done by its attempt is done by the statement.
func (c *completer) completed(ctx context.Context, q db.Querier, group []outcome, n int64, done stats.Changes, lost []outcome) ([]outcome, error) {
	for _, o := range group {
		ended := n == int64(len(group))
		if !ended {
			row, err := q.GetJobFence(ctx, o.attempt.job.ID)
			if err != nil && core.NotFound(err) != jobtype.ErrNotFound {
				return nil, err
			}
			ended = err == nil && jobtype.Status(row.Status) == jobtype.StatusDone && o.isOf(row)
		}
		if ended {
			noteOutcome(done, o)
		} else {
			lost = append(lost, o)
		}
	}
	return lost, nil
}

// ended reports whether an outcome that no statement could write was recorded before. Otherwise another process has changed
// the job. It cannot recognize a change by another process that ended the job and left this attempt's fence in the row.
func (c *completer) ended(ctx context.Context, q db.Querier, o outcome) (bool, error) {
	if !o.apart {
		return false, nil
	}
	row, err := q.GetJobFence(ctx, o.attempt.job.ID)
	if core.NotFound(err) == jobtype.ErrNotFound {
		return false, nil
	}
	status := jobtype.Status(row.Status)
	return status.Final() && (o.fate != fateDone || status == jobtype.StatusDone) && o.isOf(row), err
}

// isOf reports whether a job's row has the fence of the outcome's attempt.
func (o outcome) isOf(row db.GetJobFenceRow) bool {
	return row.Attempt == int64(o.attempt.job.Attempt) && row.WorkerID == o.attempt.job.WorkerID
}

// recordOne writes an outcome that is not a plain success; false means that the lease was lost.
func (c *completer) recordOne(ctx context.Context, q db.Querier, o outcome, done stats.Changes) (bool, error) {
	now := c.store.Now()
	id, attempt, worker := o.attempt.job.ID, int64(o.attempt.job.Attempt), o.attempt.job.WorkerID
	// A due time in the far future is cut to the last one that the schema takes.
	at := now.Add(o.delay)
	if at.After(core.Latest) || o.delay > 0 && at.Before(now) {
		at = core.Latest
	}
	status := string(jobtype.StatusPending)
	if o.delay > 0 {
		status = string(jobtype.StatusScheduled)
	}
	var n int64
	var err error
	if o.fate != fateCancel { // a caller may have requested the cancellation meanwhile
		n, err = q.CancelRequestedJob(ctx, db.CancelRequestedJobParams{
			LastError: core.Optional(o.message), Now: core.Micros(now), ID: id, Attempt: attempt, WorkerID: worker,
		})
		if err != nil {
			return false, err
		}
		if n > 0 {
			o.attempt.recorded = fateCancel
			done.Ended(o.attempt.job.Queue, o.attempt.job.Kind, jobtype.StatusCancelled, 1)
			return true, c.addError(ctx, q, o, now)
		}
	}
	switch o.fate {
	case fateRetry:
		n, err = q.RetryJob(ctx, db.RetryJobParams{
			Status: status, RunAfter: core.Micros(at), LastError: o.message, Now: core.Micros(now), ID: id, Attempt: attempt, WorkerID: worker,
		})
	case fateSnooze:
		n, err = q.SnoozeJob(ctx, db.SnoozeJobParams{
			Status: status, RunAfter: core.Micros(at), Now: core.Micros(now), ID: id, Attempt: attempt, WorkerID: worker,
		})
	case fateFail:
		n, err = q.FailJob(ctx, db.FailJobParams{LastError: o.message, Now: core.Micros(now), ID: id, Attempt: attempt, WorkerID: worker})
	case fateCancel:
		n, err = q.CancelRunningJob(ctx, db.CancelRunningJobParams{
			LastError: core.Optional(o.message), Now: core.Micros(now), ID: id, Attempt: attempt, WorkerID: worker,
		})
	case fateRelease:
		n, err = q.ReleaseJob(ctx, db.ReleaseJobParams{Now: core.Micros(now), ID: id, Attempt: attempt, WorkerID: worker})
	}
	if err != nil {
		return false, err
	}
	if n == 0 {
		ended, err := c.ended(ctx, q, o)
		if ended && c.hasCompleted(o.attempt) {
			o.attempt.recorded = fateDone
		}
		return ended, err
	}
	noteOutcome(done, o)
	return true, c.addError(ctx, q, o, now)
}

func (c *completer) hasCompleted(a *Attempt) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return a.completed
}

// addError records an attempt that did not end well; being snoozed or given back is no error.
func (c *completer) addError(ctx context.Context, q db.Querier, o outcome, now time.Time) error {
	if o.cause == "" {
		return nil
	}
	job := o.attempt.job
	return q.AddJobError(ctx, db.AddJobErrorParams{
		JobID: job.ID, Attempt: int64(job.Attempt), WorkerID: job.WorkerID, StartedAt: core.Micros(job.StartedAt),
		EndedAt: core.Micros(now), Cause: string(o.cause), Message: o.message, Stack: o.stack,
	})
}
