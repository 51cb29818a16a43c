package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs"
)

// chunk is how many jobs one transaction changes, so that other writers get their turn.
const chunk = 500

// RetryMany is [jobs.Client.Retry] for many jobs, in transactions of a few hundred. It returns how many it changed, and leaves
// those alone that Retry would refuse. An error half-way leaves some of them retried. The error is a [jobs.RefusedError] when the
// database refused some of them, as for a trigger of the application, or when other transactions had locked some for longer than an engine
// waits (on PostgreSQL, five seconds for the first, and a moment for each after it): all others are changed.
func (in *Inspector) RetryMany(ctx context.Context, ids []int64, opts ...jobs.ChangeOption) (int, error) {
	return in.changeMany(ctx, ActionRetry, core.WorkReady, ids, opts, lifecycle.Retry)
}

// CancelMany is [jobs.Client.Cancel] for many jobs as RetryMany is Retry.
func (in *Inspector) CancelMany(ctx context.Context, ids []int64, opts ...jobs.ChangeOption) (int, error) {
	return in.changeMany(ctx, ActionCancel, core.WorkReady|core.JobEnded, ids, opts, lifecycle.CancelJob)
}

// DeleteMany is [jobs.Client.Delete] for many jobs as RetryMany is Retry.
func (in *Inspector) DeleteMany(ctx context.Context, ids []int64, opts ...jobs.ChangeOption) (int, error) {
	return in.changeMany(ctx, ActionDelete, core.JobEnded, ids, opts, lifecycle.Delete)
}

func (in *Inspector) changeMany(
	ctx context.Context, action Action, signals core.Signal, ids []int64, opts []jobs.ChangeOption, request lifecycle.Request,
) (total int, err error) {
	var options lifecycle.Options
	for _, opt := range opts {
		opt(&options)
	}
	author, err := audit.Of(ctx)
	var detail json.RawMessage
	if err == nil {
		detail, err = author.Detail(options.Detail)
	}
	if err != nil {
		return 0, fmt.Errorf("%s %d jobs: %w", action, len(ids), err)
	}
	var refused jobs.RefusedError
	p := parts{scope: in.scope}
	for part := range slices.Chunk(ids, chunk) {
		part = slices.Sorted(slices.Values(part)) // always in the same order, so that two callers do not deadlock
		err := refusal.Apart(part, p.apart, func(part []int64) error {
			var changed []int64
			err := lifecycle.Change(p.within(ctx), in.scope, signals, func(ctx context.Context, q db.Querier) error {
				changed = changed[:0]
				now, left := core.Micros(in.scope.Now()), lifecycle.NewLeft()
				for _, id := range part {
					err := request(ctx, q, now, id, options, left)
					if err == nil {
						changed = append(changed, id)
					} else if !lifecycle.Refused(err) {
						return err
					}
				}
				if err := left.Conclude(ctx, q, now); err != nil {
					return err
				}
				return author.RecordMany(ctx, q, now, audit.Entry{Action: action, JobIDs: changed, Detail: detail})
			})
			if err == nil {
				total += len(changed)
			}
			return err
		}, func(id int64, err error) error {
			refused.Add(id, err)
			return nil
		})
		if err != nil {
			return total, fmt.Errorf("%s %d jobs: %w", action, len(ids), err)
		}
	}
	if refused.N > 0 {
		return total, fmt.Errorf("%s %d jobs: %w", action, len(ids), &refused)
	}
	return total, nil
}

// parts is what a change of many jobs, part by part, knows of other transactions' locks.
type parts struct {
	scope  *engine.Scope
	locked bool // some had to wait for one in vain
}

// apart reports whether an error is of some jobs alone: the change goes on with smaller parts.
func (p *parts) apart(err error) bool {
	if p.scope.Tx == nil && p.scope.Store.LocksRows() && errors.Is(err, jobs.ErrBusy) {
		p.locked = true
		return true
	}
	return p.scope.Store.RefusesRow(err)
}

// within returns the context of the next part.
func (p *parts) within(ctx context.Context) context.Context {
	if p.locked {
		return engine.Briefly(ctx)
	}
	return ctx
}
