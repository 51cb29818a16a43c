package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// ChangeOption is a condition of Retry, Cancel and Delete, or a detail of the change for the audit log.
type ChangeOption func(*lifecycle.Options)

// OnlyIf makes a change return an [ErrStatus] unless the job still has this status: another caller or a worker may have
// changed it since it was read.
func OnlyIf(s Status) ChangeOption { return func(o *lifecycle.Options) { o.Only = s } }

// AuditDetail sets what the audit log records of the change, beside its author: any value that encodes to a JSON object,
// such as the filter that found the jobs.
func AuditDetail(v any) ChangeOption { return func(o *lifecycle.Options) { o.Detail = v } }

// Get returns one job, or [ErrNotFound]. Fields that the job's kind marks as sensitive are redacted, as in all jobs that a
// client returns: see [Kind.Sensitive] and [Client.Revealed].
func (c *Client) Get(ctx context.Context, id int64) (Job, error) {
	job, err := c.find(ctx, func(context.Context, db.Querier) (int64, error) { return id, nil })
	return core.Result(job, err, "get job %d", id)
}

// GetByUniqueKey returns the live job (scheduled, pending or running) of a kind that holds a unique key, as [Client.Get] does, or else the
// job that has taken the key by [UniqueFor], while it is taken.
func (c *Client) GetByUniqueKey(ctx context.Context, kind, key string) (Job, error) {
	job, err := c.findBy(ctx, kind, "unique key", key, func(ctx context.Context, q db.Querier) (int64, error) {
		return lifecycle.HolderOrTaker(ctx, q, core.Micros(c.store.NowWithin(ctx)), kind, key)
	})
	return core.Result(job, err, "get the job of kind %q with the unique key %q", kind, key)
}

// GetByRequestID returns the job of a kind that was enqueued with a request id, as [Client.Get] does, as long as its row is kept.
func (c *Client) GetByRequestID(ctx context.Context, kind, id string) (Job, error) {
	job, err := c.findBy(ctx, kind, "request id", id, func(ctx context.Context, q db.Querier) (int64, error) {
		return q.GetJobIDByRequestID(ctx, db.GetJobIDByRequestIDParams{Kind: kind, RequestID: id})
	})
	return core.Result(job, err, "get the job of kind %q with the request id %q", kind, id)
}

// findBy does what find does for a kind and the value of a field, which it checks.
func (c *Client) findBy(ctx context.Context, kind, field, value string, id func(context.Context, db.Querier) (int64, error)) (Job, error) {
	if err := cmp.Or(core.CheckPortable("kind", kind), core.CheckPortable(field, value)); err != nil {
		return Job{}, err
	}
	return c.find(ctx, id)
}

// find returns the job whose id a function returns.
func (c *Client) find(ctx context.Context, id func(context.Context, db.Querier) (int64, error)) (Job, error) {
	var job Job
	err := c.scope().Read(ctx, func(ctx context.Context, q db.Querier) error {
		id, err := id(ctx, q)
		if err != nil {
			return err
		}
		row, err := q.GetJob(ctx, id)
		if err != nil {
			return err
		}
		one := []db.Job{row}
		if err := c.view().Rows(ctx, q, one); err != nil {
			return err
		}
		kind, err := jobrow.ReadKind(ctx, q, row.Kind)
		job = jobrow.Of(one[0])
		kind.Fill(&job)
		return err
	})
	return job, core.NotFound(err)
}

// Retry makes a failed, cancelled or scheduled job due now, with all its attempts before it. Otherwise the error is [ErrNotFound],
// [ErrStatus] or [ErrUniqueTaken], and a [RefusedError] when the database refuses the change, for example by a trigger of the
// application.
func (c *Client) Retry(ctx context.Context, id int64, opts ...ChangeOption) error {
	return c.change(ctx, jobtype.ActionRetry, core.WorkReady, id, opts, lifecycle.Retry)
}

// Cancel ends a job that has not started, and asks the worker of a running one to stop it, which happens within about a
// second: the handler's context is cancelled with [ErrCancelRequested], and the job is cancelled unless the handler ends
// well all the same. It returns the status cancelled in the first case and running in the second. Otherwise the error is
// [ErrNotFound] or [ErrStatus], and a [RefusedError] when the database refuses the change.
func (c *Client) Cancel(ctx context.Context, id int64, opts ...ChangeOption) (Status, error) {
	var became Status
	err := c.change(ctx, jobtype.ActionCancel, core.WorkReady|core.JobEnded, id, opts,
		func(ctx context.Context, q db.Querier, now, id int64, o lifecycle.Options, made *lifecycle.Transitions) (err error) {
			became, err = lifecycle.Cancel(ctx, q, now, id, o, made)
			return err
		})
	if err != nil {
		return "", err
	}
	return became, nil
}

// Delete removes a job that is not running, with its errors. Otherwise the error is [ErrNotFound] or [ErrStatus], and a
// [RefusedError] when the database refuses it, for example by a foreign key of the application.
func (c *Client) Delete(ctx context.Context, id int64, opts ...ChangeOption) error {
	return c.change(ctx, jobtype.ActionDelete, core.JobEnded, id, opts, lifecycle.Delete)
}

// change makes a change of one job and records it. The error is a [RefusedError] when the database refuses one of the rows.
func (c *Client) change(
	ctx context.Context, action jobtype.Action, signals core.Signal, id int64, opts []ChangeOption, request lifecycle.Request,
) error {
	var options lifecycle.Options
	for _, opt := range opts {
		opt(&options)
	}
	author, detail, err := audit.Detailed(ctx, options.Detail)
	if err != nil {
		return fmt.Errorf("%s job %d: %w", action, id, err)
	}
	err = lifecycle.Change(ctx, c.scope(), signals, func(ctx context.Context, q db.Querier) error {
		subject, err := author.Subject(ctx, q, id)
		if err != nil {
			return err
		}
		now, made := core.Micros(c.store.Now()), lifecycle.NewTransitions()
		if err := request(ctx, q, now, id, options, made); errors.Is(err, lifecycle.ErrUnchanged) {
			return nil // there is nothing to record
		} else if err != nil {
			return err
		}
		if err := made.Conclude(ctx, q, now); err != nil {
			return err
		}
		return author.Record(ctx, q, now, audit.Entry{
			Action: action, JobID: id, Kind: subject.Kind, Queue: subject.Queue, Jobs: 1, Detail: detail,
		})
	})
	if err != nil && c.store.RefusesRow(err) {
		refused := RefusedError{}
		refused.Add(id, err)
		err = &refused
	}
	return core.Wrap(err, "%s job %d", action, id)
}
