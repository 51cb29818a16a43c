package maintenance

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// endPauses ends the pauses of queues and kinds that are over. If the database refuses to end one, the others end all the same, and the
// error is the database's last refusal.
func endPauses(ctx context.Context, store engine.Store) error {
	now := core.Micros(store.Now())
	ended, err := endTogether(ctx, store, db.EndPausesParams{Now: now})
	if err != nil && store.RefusesRow(err) {
		ended, err = endApart(ctx, store, now)
	}
	if ended > 0 {
		store.Announce(core.WorkReady)
	}
	if err != nil {
		return fmt.Errorf("end pauses: %w", err)
	}
	return nil
}

// endTogether ends pauses in one transaction and returns their number.
func endTogether(ctx context.Context, store engine.Store, which db.EndPausesParams) (ended int64, err error) {
	err = store.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		ended, err = q.EndPauses(ctx, which)
		return err
	})
	if err != nil {
		return 0, err
	}
	return ended, nil
}

// endApart ends each pause that is over in a separate transaction and returns the number of ended ones.
func endApart(ctx context.Context, store engine.Store, now int64) (ended int64, err error) {
	var pauses []db.Pause
	err = store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		pauses, err = q.ListPauses(ctx)
		return err
	})
	if err != nil {
		return 0, err
	}
	var last error
	for _, p := range pauses {
		if p.PausedUntil == nil || *p.PausedUntil > now {
			continue
		}
		n, err := endTogether(ctx, store, db.EndPausesParams{Now: now, Queue: &p.Queue, Kind: &p.Kind})
		ended += n
		switch {
		case err != nil && store.RefusesRow(err):
			last = err
		case err != nil:
			return ended, err
		}
	}
	return ended, last
}
