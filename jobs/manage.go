package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// chunk is how many rows a bulk operation changes in one transaction, so that others get their turn.
const chunk = 500

// ChangeOption is a condition of Retry, Cancel and Delete, or says what is noted of the change.
type ChangeOption func(*condition)

// condition is the only status that a job may have; any when it is nil.
type condition struct {
	only   *string
	about  any
	detail json.RawMessage // about as JSON
}

// OnlyIf leaves a job alone, with an [ErrStatus], that does not have this status any more: somebody else may have changed it
// since it was looked at.
func OnlyIf(s Status) ChangeOption { return func(c *condition) { c.only = core.Optional(string(s)) } }

// AuditDetail is what [Client.Audit] tells of the change, beside who made it: any value that encodes to a JSON object, such
// as the filter that found the jobs.
func AuditDetail(v any) ChangeOption { return func(c *condition) { c.about = v } }

// begin is who makes a change, and what the options say of it.
func begin(ctx context.Context, opts []ChangeOption) (*author, condition, error) {
	var c condition
	for _, opt := range opts {
		opt(&c)
	}
	who, err := authorOf(ctx)
	if err == nil && who != nil {
		c.detail, err = detailOf(c.about)
	}
	return who, c, err
}

// refuses is the error for a job that the condition leaves alone; nil when it does not.
func (c condition) refuses(status Status) error {
	if c.only == nil || string(status) == *c.only {
		return nil
	}
	return statusError(fmt.Sprintf("it is %s, not %s", status, *c.only))
}

// Retry makes a failed, cancelled or scheduled job due now, with all its attempts before it. The error is
// [ErrNotFound], [ErrStatus] or [ErrUniqueTaken] when it cannot be.
func (c *Client) Retry(ctx context.Context, id int64, opts ...ChangeOption) error {
	return c.changeOne(ctx, ActionRetry, WorkReady, id, opts, c.retry)
}

// errUnchanged is of a job that is as it is to be: there is nothing to note.
var errUnchanged = errors.New("it is so already")

// changeOne changes a job and notes who did.
func (c *Client) changeOne(
	ctx context.Context, action Action, signals Signal, id int64, opts []ChangeOption,
	one func(ctx context.Context, q db.Querier, now, id int64, o condition, done changes) error,
) error {
	who, o, err := begin(ctx, opts)
	if err == nil {
		err = c.change(ctx, signals, func(ctx context.Context, q db.Querier) error {
			subject, err := who.subject(ctx, q, id)
			if err != nil {
				return err
			}
			now := core.Micros(c.store.Now())
			done := changes{}
			if err := one(ctx, q, now, id, o, done); errors.Is(err, errUnchanged) {
				return nil
			} else if err != nil {
				return err
			}
			if err := done.write(ctx, q, now); err != nil {
				return err
			}
			return who.note(ctx, q, now, AuditEntry{
				Action: action, JobID: id, Kind: subject.Kind, Queue: subject.Queue, Jobs: 1, Detail: o.detail,
			})
		})
	}
	if err != nil {
		return fmt.Errorf("%s job %d: %w", action, id, err)
	}
	return nil
}

func (c *Client) retry(ctx context.Context, q db.Querier, now, id int64, o condition, done changes) error {
	for {
		job, err := q.GetJobFence(ctx, id)
		if err != nil {
			return notFound(err)
		}
		status := Status(job.Status)
		if err := o.refuses(status); err != nil {
			return err
		}
		if status != StatusFailed && status != StatusCancelled && status != StatusScheduled {
			return statusError(fmt.Sprintf("it is %s, not failed, cancelled or scheduled", status))
		}
		n, err := q.RequeueJob(ctx, db.RequeueJobParams{Now: now, ID: id, Only: &job.Status})
		if err != nil {
			return err
		}
		if n > 0 {
			done.revived(job.Queue, job.Kind, status)
			return nil
		}
		if again, err := statusOf(ctx, q, id); err != nil || again == status {
			return cmp.Or(err, ErrUniqueTaken)
		}
		// Else its status changed between the two (not on SQLite, where nobody else writes meanwhile).
	}
}

// RetryFailed makes all failed jobs that the filter means due now and returns how many: in transactions of a few
// hundred, so a stop half-way leaves some of them retried. Jobs whose unique key another live job holds stay failed.
// The filter's Limit is not used.
func (c *Client) RetryFailed(ctx context.Context, f FailedFilter) (int64, error) {
	f.Limit = chunk
	failed := core.Optional(string(StatusFailed)) // some may have been retried or cancelled since they were listed
	who, o, err := begin(ctx, []ChangeOption{AuditDetail(failedDetail(f))})
	if err != nil {
		return 0, fmt.Errorf("retry failed jobs: %w", err)
	}
	var total int64
	for last := (Failure{}); ; {
		batch, err := c.Failures(ctx, f, last)
		if err != nil {
			return total, fmt.Errorf("retry failed jobs: %w", err)
		}
		if len(batch) == 0 {
			return total, nil
		}
		last = batch[len(batch)-1]
		var retried []int64
		err = c.change(ctx, WorkReady, func(ctx context.Context, q db.Querier) error {
			retried = retried[:0]
			now, done := core.Micros(c.store.Now()), changes{}
			for _, job := range batch {
				n, err := q.RequeueJob(ctx, db.RequeueJobParams{Now: now, ID: job.ID, Only: failed})
				if err != nil {
					return err
				}
				if n > 0 {
					retried = append(retried, job.ID)
					done.revived(job.Queue, job.Kind, StatusFailed)
				}
			}
			if err := done.write(ctx, q, now); err != nil {
				return err
			}
			return who.noteMany(ctx, q, now, AuditEntry{Action: ActionRetry, Kind: f.Kind, JobIDs: retried, Detail: o.detail})
		})
		if err != nil {
			return total, fmt.Errorf("retry failed jobs: %w", err)
		}
		total += int64(len(retried))
	}
}

// failedDetail is what is noted of a filter.
func failedDetail(f FailedFilter) any {
	filter := map[string]any{"status": StatusFailed}
	if f.Kind != "" {
		filter["kind"] = f.Kind
	}
	if !f.Since.IsZero() {
		filter["since"] = f.Since
	}
	return map[string]any{"filter": filter}
}

// Cancel ends a job that has not started, and asks the worker of one that runs to stop it, which happens within about
// a second: the handler's context is cancelled with [ErrCancelRequested], and the job is cancelled unless the handler
// ends well all the same. The status returned is cancelled for the first case and running for the second.
// The error is [ErrNotFound] or [ErrStatus] when it cannot be.
func (c *Client) Cancel(ctx context.Context, id int64, opts ...ChangeOption) (Status, error) {
	var became Status
	err := c.changeOne(ctx, ActionCancel, WorkReady|JobEnded, id, opts,
		func(ctx context.Context, q db.Querier, now, id int64, o condition, done changes) (err error) {
			became, err = c.cancel(ctx, q, now, id, o, done)
			return err
		})
	if err != nil {
		return "", err
	}
	return became, nil
}

func (c *Client) cancel(ctx context.Context, q db.Querier, now, id int64, o condition, done changes) (became Status, err error) {
	for {
		cancelled, err := q.CancelWaitingJob(ctx, db.CancelWaitingJobParams{Now: now, ID: id, Only: o.only})
		if err != nil {
			return "", err
		}
		if len(cancelled) > 0 {
			done.ended(cancelled[0].Queue, cancelled[0].Kind, StatusCancelled, 1)
			return StatusCancelled, nil
		}
		n, err := q.RequestJobCancel(ctx, db.RequestJobCancelParams{Now: now, ID: id, Only: o.only})
		if err != nil || n > 0 {
			return StatusRunning, err
		}
		job, err := q.GetJobFence(ctx, id)
		if err != nil {
			return "", notFound(err)
		}
		status := Status(job.Status)
		if status.Final() {
			return "", statusError(fmt.Sprintf("it is %s already", status))
		}
		if err := o.refuses(status); err != nil {
			return "", err
		}
		if status == StatusRunning && job.CancelRequestedAt != 0 {
			return StatusRunning, errUnchanged
		}
		// Else it went from running to waiting between the two (not on SQLite, where nobody else writes meanwhile).
	}
}

// Delete removes a job that is not running, with its errors. The error is [ErrNotFound] or [ErrStatus] when it cannot
// be.
func (c *Client) Delete(ctx context.Context, id int64, opts ...ChangeOption) error {
	return c.changeOne(ctx, ActionDelete, JobEnded, id, opts, c.delete)
}

func (c *Client) delete(ctx context.Context, q db.Querier, _, id int64, o condition, _ changes) error {
	n, err := q.DeleteJob(ctx, db.DeleteJobParams{ID: id, Only: o.only})
	if err != nil || n > 0 {
		return err
	}
	status, err := statusOf(ctx, q, id)
	if err != nil {
		return err
	}
	if err := o.refuses(status); err != nil {
		return err
	}
	return statusError(fmt.Sprintf("it is %s: cancel it first", status))
}

// PauseQueue stops all runners from claiming jobs of a queue; what runs goes on. It reports whether that changed
// anything. A queue that nobody has used yet can be paused too.
func (c *Client) PauseQueue(ctx context.Context, name string) (bool, error) {
	return c.setQueue(ctx, ActionPause, name, func(ctx context.Context, q db.Querier, now int64) (int64, error) {
		return q.PauseQueue(ctx, db.PauseQueueParams{Name: name, Now: now})
	})
}

// ResumeQueue undoes PauseQueue and reports whether the queue was paused.
func (c *Client) ResumeQueue(ctx context.Context, name string) (bool, error) {
	return c.setQueue(ctx, ActionResume, name, func(ctx context.Context, q db.Querier, now int64) (int64, error) {
		return q.ResumeQueue(ctx, db.ResumeQueueParams{Name: name, Now: now})
	})
}

func (c *Client) setQueue(ctx context.Context, action Action, name string, set func(context.Context, db.Querier, int64) (int64, error)) (bool, error) {
	var n int64
	who, err := authorOf(ctx)
	if err == nil {
		err = ValidateName("queue", name)
	}
	if err == nil {
		err = c.change(ctx, WorkReady, func(ctx context.Context, q db.Querier) error {
			now := core.Micros(c.store.Now())
			var err error
			if n, err = set(ctx, q, now); err != nil || n == 0 {
				return err
			}
			return who.note(ctx, q, now, AuditEntry{Action: action, Queue: name})
		})
	}
	if err != nil {
		return false, fmt.Errorf("%s queue %s: %w", action, core.Quote(name), err)
	}
	return n > 0, nil
}

func statusOf(ctx context.Context, q db.Querier, id int64) (Status, error) {
	fence, err := q.GetJobFence(ctx, id)
	return Status(fence.Status), notFound(err)
}

// statusError is an ErrStatus that says what the status is.
type statusError string

func (e statusError) Error() string        { return string(e) }
func (e statusError) Is(target error) bool { return target == ErrStatus }
