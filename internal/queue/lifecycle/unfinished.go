package lifecycle

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// other writes an end that is not a plain success; false means that the lease was lost.
func (f *finisher) other(ctx context.Context, e *End) (bool, error) {
	if e.Fate != FateCancel {
		if cancelled, err := f.cancelRequested(ctx, e); cancelled || err != nil {
			return cancelled, err
		}
	}
	n, err := f.write(ctx, e)
	if err != nil {
		return false, err
	}
	if n == 0 {
		ended, err := f.ended(ctx, e)
		if ended && e.Completed {
			e.Recorded = FateDone
		}
		return ended, err
	}
	e.note(f.left)
	return true, f.recordEnd(ctx, e)
}

// cancelRequested ends the job as cancelled when a caller has requested that meanwhile.
func (f *finisher) cancelRequested(ctx context.Context, e *End) (bool, error) {
	n, err := f.q.CancelRequestedJob(ctx, db.CancelRequestedJobParams{
		LastError: core.Optional(e.Message), Now: core.Micros(f.now), ID: e.Job.ID, Attempt: int64(e.Job.Attempt), WorkerID: e.Job.WorkerID,
	})
	if err != nil || n == 0 {
		return false, err
	}
	e.Recorded = FateCancel
	f.left.Ended(e.Job.Queue, e.Job.Kind, e.Job.UniqueKey, jobtype.StatusCancelled)
	return true, f.recordEnd(ctx, e)
}

// write runs the statement of the fate and returns how many rows it changed.
func (f *finisher) write(ctx context.Context, e *End) (int64, error) {
	id, attempt, worker := e.Job.ID, int64(e.Job.Attempt), e.Job.WorkerID
	now, status, at := core.Micros(f.now), string(jobtype.StatusPending), f.dueAfter(e.Delay)
	if e.Delay > 0 {
		status = string(jobtype.StatusScheduled)
	}
	switch e.Fate {
	case FateRetry:
		return f.q.RetryJob(ctx, db.RetryJobParams{
			Status: status, RunAfter: at, LastError: e.Message, Now: now, ID: id, Attempt: attempt, WorkerID: worker,
		})
	case FateSnooze:
		return f.q.SnoozeJob(ctx, db.SnoozeJobParams{Status: status, RunAfter: at, Now: now, ID: id, Attempt: attempt, WorkerID: worker})
	case FateFail:
		return f.q.FailJob(ctx, db.FailJobParams{LastError: e.Message, Now: now, ID: id, Attempt: attempt, WorkerID: worker})
	case FateCancel:
		return f.q.CancelRunningJob(ctx, db.CancelRunningJobParams{
			LastError: core.Optional(e.Message), Now: now, ID: id, Attempt: attempt, WorkerID: worker,
		})
	default:
		return f.q.ReleaseJob(ctx, db.ReleaseJobParams{Now: now, ID: id, Attempt: attempt, WorkerID: worker})
	}
}

// dueAfter returns the time after a delay. One in the far future is cut to the last one that the schema takes.
func (f *finisher) dueAfter(delay time.Duration) int64 {
	at := f.now.Add(delay)
	if at.After(core.Latest) || delay > 0 && at.Before(f.now) {
		at = core.Latest
	}
	return core.Micros(at)
}

// recordEnd records an attempt that has ended otherwise than well.
func (f *finisher) recordEnd(ctx context.Context, e *End) error {
	if err := f.trim(ctx, e); err != nil {
		return err
	}
	return f.q.AddJobError(ctx, db.AddJobErrorParams{
		JobID: e.Job.ID, Attempt: int64(e.Job.Attempt), WorkerID: e.Job.WorkerID, StartedAt: e.startedAt(),
		EndedAt: core.Micros(f.now), Cause: string(e.recordedCause()), Message: e.Message, Stack: e.Stack,
	})
}
