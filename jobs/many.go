package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// RetryMany is Retry for many jobs, in transactions of a few hundred, and returns how many it changed: jobs that it would
// refuse to retry are left alone. An error half-way leaves some of them retried.
func (c *Client) RetryMany(ctx context.Context, ids []int64, opts ...ChangeOption) (int, error) {
	return c.changeMany(ctx, ActionRetry, WorkReady, ids, opts, c.retry)
}

// CancelMany is Cancel for many jobs as RetryMany is Retry.
func (c *Client) CancelMany(ctx context.Context, ids []int64, opts ...ChangeOption) (int, error) {
	return c.changeMany(ctx, ActionCancel, WorkReady|JobEnded, ids, opts, func(ctx context.Context, q db.Querier, now, id int64, o condition, done changes) error {
		_, err := c.cancel(ctx, q, now, id, o, done)
		return err
	})
}

// DeleteMany is Delete for many jobs as RetryMany is Retry.
func (c *Client) DeleteMany(ctx context.Context, ids []int64, opts ...ChangeOption) (int, error) {
	return c.changeMany(ctx, ActionDelete, JobEnded, ids, opts, c.delete)
}

func (c *Client) changeMany(
	ctx context.Context, action Action, signals Signal, ids []int64, opts []ChangeOption,
	one func(ctx context.Context, q db.Querier, now, id int64, o condition, done changes) error,
) (total int, err error) {
	who, o, err := begin(ctx, opts)
	if err != nil {
		return 0, fmt.Errorf("%s %d jobs: %w", action, len(ids), err)
	}
	for part := range slices.Chunk(ids, chunk) {
		part = slices.Sorted(slices.Values(part)) // two that change the same jobs at once do not wait for each other in a circle
		var changed []int64
		err := c.change(ctx, signals, func(ctx context.Context, q db.Querier) error {
			changed = changed[:0]
			now, done := core.Micros(c.store.Now()), changes{}
			for _, id := range part {
				err := one(ctx, q, now, id, o, done)
				if err == nil {
					changed = append(changed, id)
				} else if !refused(err) {
					return err
				}
			}
			if err := done.write(ctx, q, now); err != nil {
				return err
			}
			return who.noteMany(ctx, q, now, AuditEntry{Action: action, JobIDs: changed, Detail: o.detail})
		})
		if err != nil {
			return total, fmt.Errorf("%s %d jobs: %w", action, len(ids), err)
		}
		total += len(changed)
	}
	return total, nil
}

// refused reports whether an error says only that a job is not as a change needs it.
func refused(err error) bool {
	return errors.Is(err, errUnchanged) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrStatus) || errors.Is(err, ErrUniqueTaken)
}

// noteMany is note for the jobs that an entry lists, if there are any.
func (a *author) noteMany(ctx context.Context, q db.Querier, now int64, e AuditEntry) error {
	if len(e.JobIDs) == 0 {
		return nil
	}
	e.Jobs = int64(len(e.JobIDs))
	return a.note(ctx, q, now, e)
}
