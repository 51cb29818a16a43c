package inspect

import (
	"context"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs"
)

// chunk is the number of jobs that one transaction changes, so that other writers get their turn.
const chunk = 500

// RetryMany is [jobs.Client.Retry] for many jobs, in transactions of a few hundred. It returns the number of changed jobs, and does not
// change jobs that Retry would refuse. An error half-way leaves some of them retried. The error is a [jobs.RefusedError] when the database
// refused some of them, for example by a trigger of the application, or when other transactions had locked some for longer than an engine
// waits (on PostgreSQL, five seconds for the first, and a moment for each after it): all others are changed.
func (in *Inspector) RetryMany(ctx context.Context, ids []int64, opts ...jobs.ChangeOption) (int, error) {
	return in.changeMany(ctx, ActionRetry, core.WorkReady, ids, opts, lifecycle.Retry)
}

// CancelMany does for many jobs what [jobs.Client.Cancel] does for one, as RetryMany does.
func (in *Inspector) CancelMany(ctx context.Context, ids []int64, opts ...jobs.ChangeOption) (int, error) {
	return in.changeMany(ctx, ActionCancel, core.WorkReady|core.JobEnded, ids, opts, lifecycle.CancelJob)
}

// DeleteMany does for many jobs what [jobs.Client.Delete] does for one, as RetryMany does.
func (in *Inspector) DeleteMany(ctx context.Context, ids []int64, opts ...jobs.ChangeOption) (int, error) {
	return in.changeMany(ctx, ActionDelete, core.JobEnded, ids, opts, lifecycle.Delete)
}

func (in *Inspector) changeMany(
	ctx context.Context, action Action, signals core.Signal, ids []int64, opts []jobs.ChangeOption, request lifecycle.Request,
) (int, error) {
	b := bulk{in: in, signals: signals, request: request, entry: audit.Entry{Action: action}}
	for _, opt := range opts {
		opt(&b.options)
	}
	err := b.authorise(ctx, b.options.Detail)
	for part := range slices.Chunk(ids, chunk) {
		if err == nil {
			err = b.change(ctx, slices.Sorted(slices.Values(part))) // always in the same order, so that two callers do not deadlock
		}
	}
	if err == nil && b.refused.N > 0 {
		err = &b.refused
	}
	return b.changed, core.Wrap(err, "%s %d jobs", action, len(ids))
}

// bulk is a change of many jobs, in transactions of a few hundred.
type bulk struct {
	in      *Inspector
	signals core.Signal
	options lifecycle.Options
	request lifecycle.Request
	author  *audit.Author
	entry   audit.Entry // the entry of each transaction, without its jobs
	changed int
	refused jobs.RefusedError
}

// authorise sets the author and the detail of the audit entries.
func (b *bulk) authorise(ctx context.Context, detail any) (err error) {
	b.author, b.entry.Detail, err = audit.Detailed(ctx, detail)
	return err
}

// change changes jobs in one transaction, or in smaller parts when the database refuses some. It leaves out jobs that the request refuses.
func (b *bulk) change(ctx context.Context, ids []int64) error {
	return changeInParts(ctx, b.in.scope, ids, &b.refused, func(ctx context.Context, part []int64) error {
		entry := b.entry
		err := lifecycle.Change(ctx, b.in.scope, b.signals, func(ctx context.Context, q db.Querier) error {
			entry.JobIDs = nil
			now, made := core.Micros(b.in.scope.Now()), lifecycle.NewTransitions()
			for _, id := range part {
				err := b.request(ctx, q, now, id, b.options, made)
				if err == nil {
					entry.JobIDs = append(entry.JobIDs, id)
				} else if !lifecycle.Refused(err) {
					return err
				}
			}
			if err := made.Conclude(ctx, q, now); err != nil {
				return err
			}
			return b.author.RecordMany(ctx, q, now, entry)
		})
		if err == nil {
			b.changed += len(entry.JobIDs)
		}
		return err
	})
}

// lockedMost is the number of times in a row that a change may fail to get locks other than those of its jobs.
const lockedMost = 20

// changeInParts changes jobs together, and in ever smaller parts when the database refuses some or other transactions have locked some.
// It adds those jobs to refused. change does nothing to a job that it has already changed.
func changeInParts(
	ctx context.Context, scope *engine.Scope, ids []int64, refused *jobs.RefusedError, change func(context.Context, []int64) error,
) error {
	inVain := 0
	var some jobs.RefusedError
	do := func(ids []int64) error {
		err := change(ctx, ids)
		if err == nil {
			inVain = 0
		}
		return err
	}
	aside := func(id int64, err error) error {
		some.Add(id, err)
		return nil
	}
	err := refusal.Split(ids, scope.Store.RefusesRow, do, aside)
	if scope.Tx == nil && lifecycle.IsLocked(scope.Store, err) {
		var locked []int64
		if locked, err = lifecycle.Locked(ctx, scope.Store, ids); err != nil {
			return err
		}
		ctx, some = engine.Briefly(ctx), jobs.RefusedError{}
		for _, id := range locked {
			some.Add(id, jobs.ErrBusy)
		}
		free := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return slices.Contains(locked, id) })
		err = refusal.Split(free, func(err error) bool {
			if lifecycle.IsLocked(scope.Store, err) {
				inVain++
				return inVain <= lockedMost
			}
			return scope.Store.RefusesRow(err)
		}, do, aside)
	}
	if some.N > 0 {
		refused.Merge(some)
	}
	return err
}
