package maintenance

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// EndPauses resumes the queues whose pause is over. It writes only when there is one.
func EndPauses(ctx context.Context, store engine.Store) error {
	var work db.GetScheduleWorkRow
	err := store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		work, err = q.GetScheduleWork(ctx, core.JSONNames(nil))
		return err
	})
	if err != nil {
		return fmt.Errorf("look for pauses of queues that are over: %w", err)
	}
	if now := core.Micros(store.Now()); work.PauseEnd == 0 || work.PauseEnd > now {
		return nil
	}
	return resumeDue(ctx, store)
}

// resumeDue resumes the queues whose pause is over.
func resumeDue(ctx context.Context, store engine.Store) error {
	var resumed int64
	err := store.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		resumed, err = q.ResumeDueQueues(ctx, core.Micros(store.Now()))
		return err
	})
	if err != nil {
		return fmt.Errorf("end pauses of queues: %w", err)
	}
	if resumed > 0 {
		store.Announce(core.WorkReady)
	}
	return nil
}
