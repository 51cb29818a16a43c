package maintenance

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// SettleOverdue resumes the queues and kinds whose pause is over, releases successors whose unique keys are free, and ends the jobs that
// were not started in time. It writes only when there is one.
func SettleOverdue(ctx context.Context, store engine.Store, expiry *Expiry) error {
	var work db.GetScheduleWorkRow
	err := store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		work, err = q.GetScheduleWork(ctx, core.JSONNames(nil))
		return err
	})
	if err != nil {
		return fmt.Errorf("look for pauses that are over: %w", err)
	}
	now := core.Micros(store.Now())
	if work.StartBy != 0 && work.StartBy <= now {
		if _, err := expiry.Once(ctx); err != nil {
			return err
		}
	}
	if work.Free > 0 {
		if err := releaseFree(ctx, store, now); err != nil {
			return err
		}
	}
	if work.PauseEnd == 0 || work.PauseEnd > now {
		return nil
	}
	return resumeDue(ctx, store)
}
