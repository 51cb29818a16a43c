package limits

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Set sets a limit, records that, and has the next claims look at its lanes.
func Set(ctx context.Context, scope *engine.Scope, n Name, v jobtype.LimitValues) error {
	if err := n.checkSet(v); err != nil {
		return fmt.Errorf("set the limit of %s: %w", n.Name, err)
	}
	_, err := n.change(ctx, scope, jobtype.ActionSetLimit, &v, func(ctx context.Context, q db.Querier, now int64) (bool, error) {
		return true, q.SetLimit(ctx, db.SetLimitParams{
			Scope: n.Scope, Name: n.Name, LimitKey: n.Key, Running: int64(Running(v)), Starts: int64(v.Rate.Starts),
			Period: v.Rate.Period.Microseconds(), Burst: int64(v.Burst), Weight: int64(v.Weight),
			Depth: int64(v.Depth), OnFull: OnFull(v), Ordered: Ordered(v), Now: now,
		})
	})
	return core.Wrap(err, "set the limit of %s", n.Name)
}

// Delete removes a limit that Set has set, so that a declared one counts again, records that, and has the next claims look at its lanes. It
// reports whether there was one.
func Delete(ctx context.Context, scope *engine.Scope, n Name) (bool, error) {
	if err := n.check(); err != nil {
		return false, fmt.Errorf("delete the limit of %s: %w", n.Name, err)
	}
	deleted, err := n.change(ctx, scope, jobtype.ActionDeleteLimit, nil, func(ctx context.Context, q db.Querier, _ int64) (bool, error) {
		if n.Scope != core.ScopeKind {
			return declare.DeleteLimit(ctx, q, declare.LimitName{Scope: n.Scope, Name: n.Name})
		}
		found, err := q.DeleteLimit(ctx, db.DeleteLimitParams{Scope: n.Scope, Name: n.Name, LimitKey: n.Key})
		return found > 0, err
	})
	return deleted, core.Wrap(err, "delete the limit of %s", n.Name)
}

// detail is the detail of a limit's audit entry.
type detail struct {
	Key   string `json:"key"`
	Total bool   `json:"total,omitempty"`
	*jobtype.LimitValues
}

// change has the next claims look at the lanes of a limit, changes it and records that. It reports whether there was a change.
func (n Name) change(
	ctx context.Context, scope *engine.Scope, action jobtype.Action, v *jobtype.LimitValues,
	change func(ctx context.Context, q db.Querier, now int64) (bool, error),
) (changed bool, err error) {
	return n.recorded(ctx, scope, action, v, func(ctx context.Context, q db.Querier, now int64) (bool, error) {
		if err := n.wake(ctx, q, now); err != nil {
			return false, err
		}
		return change(ctx, q, now)
	})
}

// recorded runs a change in a transaction and records it if there was one.
func (n Name) recorded(
	ctx context.Context, scope *engine.Scope, action jobtype.Action, v *jobtype.LimitValues,
	change func(ctx context.Context, q db.Querier, now int64) (bool, error),
) (changed bool, err error) {
	author, text, err := audit.Detailed(ctx, detail{n.Key, n.Scope == core.ScopeTotal, v})
	if err != nil {
		return false, err
	}
	entry := audit.Entry{Action: action, Detail: json.RawMessage(text)}
	if n.Scope == core.ScopeQueue {
		entry.Queue = n.Name
	} else {
		entry.Kind = n.Name
	}
	err = lifecycle.Change(ctx, scope, core.WorkReady, func(ctx context.Context, q db.Querier) error {
		now := core.Micros(scope.Store.Now())
		if changed, err = change(ctx, q, now); err != nil || !changed {
			return err
		}
		return author.Record(ctx, q, now, entry)
	})
	return changed && err == nil, err
}

// wake makes the lanes of a key ready; all of the kind when the key is empty. It comes before the change of the limit: a claim locks the
// limit of a whole kind or queue first, and passes over locked lanes. These limits make no lane wait.
func (n Name) wake(ctx context.Context, q db.Querier, now int64) error {
	if n.Scope != core.ScopeKind {
		return nil
	}
	_, err := q.WakeKind(ctx, db.WakeKindParams{Now: now, Kind: n.Name, LimitKey: core.Optional(n.Key)})
	return core.Wrap(err, "make the lanes of the limit ready")
}
