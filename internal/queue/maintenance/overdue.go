package maintenance

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
)

// SettleOverdue mends what a clock wrote while it was ahead, resumes queues and kinds whose pause is over, releases successors whose keys
// are free, and ends jobs that were not started in time. It writes only if there is work, and logs what the database refuses.
func SettleOverdue(ctx context.Context, store engine.Store, expiry *Expiry, log *slog.Logger) error {
	now := store.Now()
	if err := mendAhead(ctx, store, log, now); err != nil && (store.RefusesRow(err) || lifecycle.IsLocked(store, err)) {
		log.Warn("mending times that a clock wrote that was ahead failed", "error", err)
	} else if err != nil {
		return err
	}
	var work db.GetScheduleWorkRow
	err := store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		work, err = q.GetScheduleWork(ctx, core.JSONNames(nil))
		return err
	})
	if err != nil {
		return fmt.Errorf("look for pauses that are over: %w", err)
	}
	at := core.Micros(now)
	for _, part := range []struct {
		is   bool
		what string
		do   func() error
	}{
		{work.StartBy != 0 && work.StartBy <= at, "ending jobs that were not started in time failed", func() error {
			_, err := expiry.Once(ctx)
			return err
		}},
		{work.Free > 0, "releasing successors of jobs with unique keys failed", func() error { return releaseFree(ctx, store, at) }},
		{work.PauseEnd != 0 && work.PauseEnd <= at, "ending pauses failed", func() error { return endPauses(ctx, store) }},
	} {
		if !part.is {
			continue
		}
		if err := part.do(); err != nil && store.RefusesRow(err) {
			log.Warn(part.what, "error", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}
