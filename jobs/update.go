package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// UpdateOption is a change for [Client.Update]. A [ChangeOption] is one too: a condition, or a detail for the audit log.
type UpdateOption interface{ update(*update) error }

// update holds the options' changes.
type update struct {
	now     time.Time
	params  db.UpdateWaitingJobParams
	changed []string
	changes []ChangeOption
}

type updateFunc func(*update) error

func (f updateFunc) update(u *update) error { return f(u) }

func (o ChangeOption) update(u *update) error {
	u.changes = append(u.changes, o)
	return nil
}

// SetPriority gives the job another priority: higher runs first; from [MinPriority] to [MaxPriority].
func SetPriority(p int) UpdateOption {
	return updateFunc(func(u *update) error {
		u.params.Priority = new(int64(p))
		return u.set("priority", (&enqueue{priority: new(p)}).checkNumbers())
	})
}

// SetRunAfter sets the job's run-after time, as [At] does. The zero time means at once. A time at which the job has
// expired, see [StartBy], is refused.
func SetRunAfter(t time.Time) UpdateOption {
	return updateFunc(func(u *update) error {
		e := &enqueue{}
		At(t)(e)
		at, _, err := e.runAfter(u.now)
		u.params.RunAfter = new(core.Micros(at))
		return u.set("run_after", err)
	})
}

// SetPayload sets another payload: any value that encodes to JSON. A payload from a client that redacts sensitive fields is refused: it has
// [Redacted] in their place. The payload's version, see [Kind], stays: use the form of that version. The new payload has all attempts,
// however many the old one has used.
func SetPayload(v any) UpdateOption {
	return updateFunc(func(u *update) error {
		data, ready := v.(json.RawMessage)
		if !ready {
			var err error
			if data, err = json.Marshal(v); err != nil {
				return fmt.Errorf("encode payload: %w", err)
			}
		}
		u.params.Payload = new(string(data))
		return u.set("payload", core.ValidateJSON("payload", data))
	})
}

// SetQueue moves the job to another queue.
func SetQueue(name string) UpdateOption {
	return updateFunc(func(u *update) error {
		u.params.Queue = &name
		return u.set("queue", ValidateName("queue", name))
	})
}

// SetMaxAttempts fails the job for good after n counted attempts: 1 to [MaxAttemptsLimit]. If it has already had n, the next
// one is the last. 0 leaves the number to the kind again: see [Kind.MaxAttempts].
func SetMaxAttempts(n int) UpdateOption {
	return updateFunc(func(u *update) error {
		u.params.MaxAttempts = new(int64(n))
		return u.set("max_attempts", (&enqueue{maxAttempts: n}).checkNumbers())
	})
}

// set records a changed column, and returns the error for its value.
func (u *update) set(column string, err error) error {
	u.changed = append(u.changed, column)
	return err
}

// Update changes a job that does not run: a scheduled one, also for a further attempt, or a pending one. Of a concurrent update and claim
// one succeeds: a job that runs, or that a worker has prefetched or was handed, is refused with an [ErrStatus], and so is one that has
// ended. The error is [ErrNotFound] for an unknown id, an [InvalidError] for a value out of its bounds, and a [RefusedError] when the
// database refuses the change. The audit log records the changed columns, without values, and an [AuditDetail] beside them.
func (c *Client) Update(ctx context.Context, id int64, opts ...UpdateOption) error {
	u := update{now: c.store.NowWithin(ctx)}
	for _, opt := range opts {
		if err := opt.update(&u); err != nil {
			return fmt.Errorf("%s job %d: %w", jobtype.ActionUpdate, id, err)
		}
	}
	if len(u.changed) == 0 {
		return fmt.Errorf("%s job %d: %w", jobtype.ActionUpdate, id, errors.New("no change is given"))
	}
	u.params.ID = id
	changes := append(u.changes, func(o *lifecycle.Options) {
		detail := map[string]any{"columns": u.changed}
		if o.Detail != nil {
			detail["detail"] = o.Detail
		}
		o.Detail = detail
	})
	return c.change(ctx, jobtype.ActionUpdate, core.WorkReady, id, changes,
		func(ctx context.Context, q db.Querier, now, _ int64, o lifecycle.Options, _ *lifecycle.Transitions) error {
			u.params.Now, o.Cipher = now, c.scope().Cipher
			return lifecycle.Update(ctx, q, u.params, o)
		})
}
