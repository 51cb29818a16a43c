package maintenance

import (
	"cmp"
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/refusal"
)

// freeMost is the largest number of successors that one transaction releases.
const freeMost = 1000

// releaseFree releases the successors whose unique keys are free: successors of jobs that a caller has deleted or plain SQL has ended,
// and successors that were locked when the jobs before them ended. A successor that the database refuses stops no other; the error is the
// last refusal. It wakes runners when it released any.
func releaseFree(ctx context.Context, store engine.Store, now int64) (last error) {
	released := false
	defer func() {
		if released {
			store.Announce(core.WorkReady)
		}
	}()
	page := db.ListFreeSuccessorsParams{N: freeMost}
	for {
		var list []db.ListFreeSuccessorsRow
		err := store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
			list, err = q.ListFreeSuccessors(ctx, page)
			return err
		})
		if err != nil {
			return err
		}
		keys := make([][2]string, len(list))
		for i, s := range list {
			keys[i] = [2]string{s.Kind, s.UniqueKey}
			page.AfterKind, page.AfterKey = s.Kind, s.UniqueKey
		}
		err = refusal.Split(keys, store.RefusesRow, func(part [][2]string) error {
			return store.Write(ctx, func(ctx context.Context, q db.Querier) error {
				n, err := lifecycle.Release(ctx, q, now, part)
				released = released || n > 0
				return err
			})
		}, func(_ [2]string, err error) error {
			last = err
			return nil
		})
		if err != nil || len(list) < freeMost {
			return cmp.Or(err, last)
		}
	}
}
