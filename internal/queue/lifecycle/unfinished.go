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
	n, to, err := f.write(ctx, e)
	if err != nil {
		return false, err
	}
	if n == 0 {
		f.made.unknown = f.made.unknown || e.Apart
		ended, err := f.ended(ctx, e)
		if ended && e.Completed {
			e.Recorded = FateDone
		}
		return ended, err
	}
	e.leave(f.made, to)
	return true, f.recordEnd(ctx, e)
}

// cancelRequested ends the job as cancelled when a caller has requested that meanwhile.
func (f *finisher) cancelRequested(ctx context.Context, e *End) (bool, error) {
	message := core.Optional(e.Message)
	if e.Fate == FateSnooze {
		message = nil // the reason of a snooze is no error
	}
	n, err := f.q.EndJob(ctx, db.EndJobParams{
		Status: string(jobtype.StatusCancelled), LastError: message, OnlyRequested: 1,
		Now: core.Micros(f.now), ID: e.Job.ID, Attempt: int64(e.Job.Attempt), WorkerID: e.Job.WorkerID,
	})
	if err != nil || n == 0 {
		return false, err
	}
	e.Recorded = FateCancel
	e.leave(f.made, jobtype.StatusCancelled)
	return true, f.recordEnd(ctx, e)
}

// write runs the statement of the fate and returns the number of rows that it changed, and the new status of the job.
func (f *finisher) write(ctx context.Context, e *End) (n int64, to jobtype.Status, err error) {
	switch e.Fate {
	case FateFail:
		n, err = f.end(ctx, e, jobtype.StatusFailed, &e.Message)
		return n, jobtype.StatusFailed, err
	case FateCancel:
		n, err = f.end(ctx, e, jobtype.StatusCancelled, core.Optional(e.Message))
		return n, jobtype.StatusCancelled, err
	case FateUnable:
		n, err = f.putOff(ctx, e)
		return n, jobtype.StatusScheduled, err
	}
	to = ready(e.Job.LimitKey)
	back := db.ReturnJobParams{Uncounted: 1, Now: core.Micros(f.now), ID: e.Job.ID, Attempt: int64(e.Job.Attempt), WorkerID: e.Job.WorkerID}
	if e.Fate == FateRetry || e.Fate == FateSnooze {
		at := f.dueAfter(e.Delay)
		if back.RunAfter = &at; e.Delay > 0 {
			to = jobtype.StatusScheduled
		}
	}
	throttled := e.Throttle && e.Job.LimitKey != nil
	if throttled {
		back.RunAfter, to = nil, ready(e.Job.LimitKey) // the job keeps its place
	}
	if e.Fate == FateRetry {
		back.Uncounted, back.LastError = 0, &e.Message
	}
	back.Status = string(to)
	if n, err = f.q.ReturnJob(ctx, back); n > 0 && throttled {
		f.made.closeKey(e.Job.Kind, *e.Job.LimitKey, f.dueAfter(e.Delay))
	}
	return n, to, err
}

// unableMost is the longest time for which a job that no worker could run is put off, without the End's Delay.
const unableMost = time.Minute

// putOff puts off a job that its worker cannot run: by a second for each attempt in a row that ended in this way, this one included. It
// counts the attempts' rows, because each attempt may be another worker's.
func (f *finisher) putOff(ctx context.Context, e *End) (int64, error) {
	before, err := f.q.GetUnableAttempts(ctx, e.Job.ID)
	if err != nil {
		return 0, err
	}
	e.Delay = min(time.Duration(before.Attempts+1)*time.Second, unableMost) + e.Spread
	return f.q.PutOffJob(ctx, db.PutOffJobParams{
		RunAfter: f.dueAfter(e.Delay), Now: core.Micros(f.now), ID: e.Job.ID, Attempt: int64(e.Job.Attempt), WorkerID: e.Job.WorkerID,
	})
}

// end gives the job its final status.
func (f *finisher) end(ctx context.Context, e *End, status jobtype.Status, message *string) (int64, error) {
	return f.q.EndJob(ctx, db.EndJobParams{
		Status: string(status), LastError: message,
		Now: core.Micros(f.now), ID: e.Job.ID, Attempt: int64(e.Job.Attempt), WorkerID: e.Job.WorkerID,
	})
}

// dueAfter returns the time after a delay, at most the last time that the schema accepts.
func (f *finisher) dueAfter(delay time.Duration) int64 {
	at := f.now.Add(delay)
	if at.After(core.Latest) || delay > 0 && at.Before(f.now) {
		at = core.Latest
	}
	return core.Micros(at)
}

// recordEnd adds the row of an attempt that did not end well.
func (f *finisher) recordEnd(ctx context.Context, e *End) error {
	if err := f.trim(ctx, e); err != nil {
		return err
	}
	return f.q.AddJobError(ctx, db.AddJobErrorParams{
		JobID: e.Job.ID, Attempt: int64(e.Job.Attempt), WorkerID: e.Job.WorkerID, StartedAt: e.startedAt(),
		EndedAt: core.Micros(f.now), Cause: string(e.recordedCause()), Message: e.Message, Stack: e.Stack,
	})
}
