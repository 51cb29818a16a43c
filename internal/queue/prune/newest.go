package prune

import (
	"context"

	"github.com/sqluice/sqluice/db"
)

// emptyNewest empties the last job of a step if it is the newest job and its time is over, and reports whether it is. SQLite must not
// reuse the id of the newest row, so that row stays until there is a later job.
func (w walk) emptyNewest(ctx context.Context, sum *Result, after int64, step db.GetPruneStepRow) (bool, error) {
	id := step.LastID
	var newest int64
	err := w.scope.ReadAsRunner(ctx, func(ctx context.Context, q db.Querier) (err error) {
		newest, err = q.GetNewestEndedID(ctx)
		return err
	})
	if err != nil || newest != id {
		return false, err
	}
	if after < id-1 {
		if step, err = w.read(ctx, id-1, id); err != nil {
			return false, err
		}
	}
	if step.Expired == 0 {
		return false, nil
	}
	_, err = w.remove(ctx, func(ctx context.Context, q db.Querier) (int64, error) {
		n, err := q.EmptyJob(ctx, db.EmptyJobParams{ID: id, Before: w.now - w.soonest, Now: w.now})
		if err != nil || n == 0 { // the row is empty, or set aside
			return 0, err
		}
		if err := q.DeleteJobErrors(ctx, id); err != nil {
			return 0, err
		}
		return n, q.DeleteJobRefusals(ctx, id)
	})
	if err != nil && w.scope.Store.RefusesRow(err) {
		err = w.setAside(ctx, sum, id, err)
	}
	return err == nil, err
}
