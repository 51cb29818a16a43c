package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// changeTries is the number of tries to change one job whose status changes between the statements.
const changeTries = 5

// ErrChanging is returned when all tries failed to change the job. A trigger that drops the change has the same effect.
var ErrChanging = errors.New("change the job: its status changed in each try, or a trigger of the database prevents the change")

// Request is a change of one job on a caller's request: Retry, CancelJob or Delete. now is in microseconds.
type Request = func(ctx context.Context, q db.Querier, now, id int64, o Options, made *Transitions) error

// Retry makes a failed, cancelled or scheduled job pending, with all its attempts left. The error is
// [jobtype.ErrNotFound], [jobtype.ErrStatus] or [jobtype.ErrUniqueTaken] when it cannot be retried.
func Retry(ctx context.Context, q db.Querier, now, id int64, o Options, made *Transitions) error {
	for range changeTries {
		job, err := q.GetJobFence(ctx, id)
		if err != nil {
			return core.NotFound(err)
		}
		status := jobtype.Status(job.Status)
		if err := o.check(status); err != nil {
			return err
		}
		if status != jobtype.StatusFailed && status != jobtype.StatusCancelled && status != jobtype.StatusScheduled {
			return statusError(fmt.Sprintf("it is %s, not failed, cancelled or scheduled", status))
		}
		n, err := q.RequeueJob(ctx, db.RequeueJobParams{Now: now, ID: id, Only: &job.Status})
		if err != nil {
			return err
		}
		if n > 0 {
			made.Requeue(Ref{Queue: job.Queue, Kind: job.Kind}, status)
			return nil
		}
		again, err := statusOf(ctx, q, id)
		if err != nil {
			return err
		}
		if again == status {
			return whyNotRequeued(ctx, q, id)
		}
		// The status changed between the two statements (not on SQLite, where one transaction writes at a time).
	}
	return ErrChanging
}

// whyNotRequeued returns an error that says why a job with a status that allows a retry was not retried.
func whyNotRequeued(ctx context.Context, q db.Querier, id int64) error {
	row, err := q.GetJob(ctx, id)
	if err != nil {
		return core.NotFound(err)
	}
	if row.Payload == jobtype.ForgottenJSON {
		return statusError("what it carried was erased: its user was forgotten, or it was kept long enough")
	}
	return jobtype.ErrUniqueTaken
}

// Cancel ends a job that has not started, and requests the end of one that runs. became is cancelled in the first case and
// running in the second. The error is [jobtype.ErrNotFound] or [jobtype.ErrStatus] when it cannot be cancelled, and
// [ErrUnchanged] when the end of the running job was requested before.
func Cancel(ctx context.Context, q db.Querier, now, id int64, o Options, made *Transitions) (became jobtype.Status, err error) {
	for range changeTries {
		cancelled, err := q.CancelWaitingJob(ctx, db.CancelWaitingJobParams{Now: now, ID: id, Only: o.only()})
		if err != nil {
			return "", err
		}
		if len(cancelled) > 0 {
			job := cancelled[0]
			made.end(Ref{Queue: job.Queue, Kind: job.Kind, UniqueKey: core.Deref(job.UniqueKey), Limit: Limit(job.LimitKey)}, StatusWaiting, jobtype.StatusCancelled)
			return jobtype.StatusCancelled, nil
		}
		n, err := q.RequestJobCancel(ctx, db.RequestJobCancelParams{Now: now, ID: id, Only: o.only()})
		if err != nil || n > 0 {
			return jobtype.StatusRunning, err
		}
		job, err := q.GetJobFence(ctx, id)
		if err != nil {
			return "", core.NotFound(err)
		}
		status := jobtype.Status(job.Status)
		if status.Final() {
			return "", statusError(fmt.Sprintf("it is %s already", status))
		}
		if err := o.check(status); err != nil {
			return "", err
		}
		if status == jobtype.StatusRunning && job.CancelRequestedAt != 0 {
			return jobtype.StatusRunning, ErrUnchanged
		}
		// It went from running to waiting between the statements (not on SQLite, where one transaction writes at a time).
	}
	return "", ErrChanging
}

// CancelJob is Cancel as a [Request].
func CancelJob(ctx context.Context, q db.Querier, now, id int64, o Options, made *Transitions) error {
	_, err := Cancel(ctx, q, now, id, o, made)
	return err
}

// Delete removes a job that is not running, with its errors. The error is [jobtype.ErrNotFound] or [jobtype.ErrStatus] when
// it cannot be deleted. Triggers keep the counts.
func Delete(ctx context.Context, q db.Querier, _, id int64, o Options, made *Transitions) error {
	deleted, err := q.DeleteJob(ctx, db.DeleteJobParams{ID: id, Only: o.only()})
	if err != nil {
		return err
	}
	for _, job := range deleted {
		made.end(Ref{Queue: job.Queue, Kind: job.Kind, UniqueKey: core.Deref(job.UniqueKey), Limit: Limit(job.LimitKey)}, jobtype.Status(job.Status), StatusRemoved)
		return nil
	}
	status, err := statusOf(ctx, q, id)
	if err != nil {
		return err
	}
	if err := o.check(status); err != nil {
		return err
	}
	return statusError(fmt.Sprintf("it is %s: cancel it first", status))
}

func statusOf(ctx context.Context, q db.Querier, id int64) (jobtype.Status, error) {
	fence, err := q.GetJobFence(ctx, id)
	return jobtype.Status(fence.Status), core.NotFound(err)
}
