package jobs

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
)

// chunk is how many rows a bulk operation changes in one transaction, so that others get their turn.
const chunk = 500

// ChangeOption is a condition of Retry, Cancel and Delete.
type ChangeOption func(*condition)

// condition is the only status that a job may have; any when it is nil.
type condition struct{ only *string }

// OnlyIf leaves a job alone, with an [ErrStatus], that does not have this status any more: somebody else may have changed it
// since it was looked at.
func OnlyIf(s Status) ChangeOption { return func(c *condition) { c.only = optional(string(s)) } }

func newCondition(opts []ChangeOption) condition {
	var c condition
	for _, opt := range opts {
		opt(&c)
	}
	return c
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
	condition := newCondition(opts)
	err := c.change(ctx, WorkReady, func(ctx context.Context, q db.Querier) error {
		n, err := q.RequeueJob(ctx, db.RequeueJobParams{Now: toMicros(c.store.Now()), ID: id, Only: condition.only})
		if err != nil || n > 0 {
			return err
		}
		status, err := statusOf(ctx, q, id)
		if err != nil {
			return err
		}
		if err := condition.refuses(status); err != nil {
			return err
		}
		switch status {
		case StatusFailed, StatusCancelled, StatusScheduled:
			return ErrUniqueTaken
		default:
			return statusError(fmt.Sprintf("it is %s, not failed, cancelled or scheduled", status))
		}
	})
	if err != nil {
		return fmt.Errorf("retry job %d: %w", id, err)
	}
	return nil
}

// RetryFailed makes all failed jobs that the filter means due now and returns how many: in transactions of a few
// hundred, so a stop half-way leaves some of them retried. Jobs whose unique key another live job holds stay failed.
// The filter's Limit is not used.
func (c *Client) RetryFailed(ctx context.Context, f FailedFilter) (int64, error) {
	f.Limit = chunk
	failed := optional(string(StatusFailed)) // some may have been retried or cancelled since they were listed
	var total int64
	for last := (Job{}); ; {
		batch, err := c.ListFailed(ctx, f, last)
		if err != nil {
			return total, fmt.Errorf("retry failed jobs: %w", err)
		}
		if len(batch) == 0 {
			return total, nil
		}
		last = batch[len(batch)-1]
		var n int64
		err = c.change(ctx, WorkReady, func(ctx context.Context, q db.Querier) error {
			n = 0
			for _, job := range batch {
				changed, err := q.RequeueJob(ctx, db.RequeueJobParams{Now: toMicros(c.store.Now()), ID: job.ID, Only: failed})
				if err != nil {
					return err
				}
				n += changed
			}
			return nil
		})
		if err != nil {
			return total, fmt.Errorf("retry failed jobs: %w", err)
		}
		total += n
	}
}

// Cancel ends a job that has not started, and asks the worker of one that runs to stop it, which happens within about
// a second: the handler's context is cancelled with [ErrCancelRequested], and the job is cancelled unless the handler
// ends well all the same. The status returned is cancelled for the first case and running for the second.
// The error is [ErrNotFound] or [ErrStatus] when it cannot be.
func (c *Client) Cancel(ctx context.Context, id int64, opts ...ChangeOption) (Status, error) {
	condition := newCondition(opts)
	var became Status
	err := c.change(ctx, WorkReady|JobEnded, func(ctx context.Context, q db.Querier) error {
		now := toMicros(c.store.Now())
		for {
			n, err := q.CancelWaitingJob(ctx, db.CancelWaitingJobParams{Now: now, ID: id, Only: condition.only})
			became = StatusCancelled
			if err != nil || n > 0 {
				return err
			}
			n, err = q.RequestJobCancel(ctx, db.RequestJobCancelParams{Now: now, ID: id, Only: condition.only})
			became = StatusRunning
			if err != nil || n > 0 {
				return err
			}
			status, err := statusOf(ctx, q, id)
			if err != nil {
				return err
			}
			if status.Final() {
				return statusError(fmt.Sprintf("it is %s already", status))
			}
			if err := condition.refuses(status); err != nil {
				return err
			}
			// Else it went from running to waiting between the two (not on SQLite, where nobody else writes meanwhile).
		}
	})
	if err != nil {
		return "", fmt.Errorf("cancel job %d: %w", id, err)
	}
	return became, nil
}

// Delete removes a job that is not running, with its errors. The error is [ErrNotFound] or [ErrStatus] when it cannot
// be.
func (c *Client) Delete(ctx context.Context, id int64, opts ...ChangeOption) error {
	condition := newCondition(opts)
	err := c.change(ctx, JobEnded, func(ctx context.Context, q db.Querier) error {
		n, err := q.DeleteJob(ctx, db.DeleteJobParams{ID: id, Only: condition.only})
		if err != nil || n > 0 {
			return err
		}
		status, err := statusOf(ctx, q, id)
		if err != nil {
			return err
		}
		if err := condition.refuses(status); err != nil {
			return err
		}
		return statusError(fmt.Sprintf("it is %s: cancel it first", status))
	})
	if err != nil {
		return fmt.Errorf("delete job %d: %w", id, err)
	}
	return nil
}

// PauseQueue stops all runners from claiming jobs of a queue; what runs goes on. It reports whether that changed
// anything. A queue that nobody has used yet can be paused too.
func (c *Client) PauseQueue(ctx context.Context, name string) (bool, error) {
	return c.setQueue(ctx, "pause", name, func(ctx context.Context, q db.Querier, now int64) (int64, error) {
		return q.PauseQueue(ctx, db.PauseQueueParams{Name: name, Now: now})
	})
}

// ResumeQueue undoes PauseQueue and reports whether the queue was paused.
func (c *Client) ResumeQueue(ctx context.Context, name string) (bool, error) {
	return c.setQueue(ctx, "resume", name, func(ctx context.Context, q db.Querier, now int64) (int64, error) {
		return q.ResumeQueue(ctx, db.ResumeQueueParams{Name: name, Now: now})
	})
}

func (c *Client) setQueue(ctx context.Context, verb, name string, set func(context.Context, db.Querier, int64) (int64, error)) (bool, error) {
	var n int64
	err := ValidateName("queue", name)
	if err == nil {
		err = c.change(ctx, WorkReady, func(ctx context.Context, q db.Querier) error {
			var err error
			n, err = set(ctx, q, toMicros(c.store.Now()))
			return err
		})
	}
	if err != nil {
		return false, fmt.Errorf("%s queue %s: %w", verb, quote(name), err)
	}
	return n > 0, nil
}

func statusOf(ctx context.Context, q db.Querier, id int64) (Status, error) {
	fence, err := q.GetJobFence(ctx, id)
	return Status(fence.Status), notFound(err)
}
