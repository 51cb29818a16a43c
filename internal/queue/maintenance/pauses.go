package maintenance

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// resumeDue resumes the queues and kinds whose pause is over.
func resumeDue(ctx context.Context, store engine.Store) error {
	var queues, kinds int64
	err := store.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		now := core.Micros(store.Now())
		if queues, err = q.ResumeDueQueues(ctx, now); err != nil {
			return err
		}
		kinds, err = q.ResumeDueKinds(ctx, now)
		return err
	})
	if err != nil {
		return fmt.Errorf("end pauses: %w", err)
	}
	if queues+kinds > 0 {
		store.Announce(core.WorkReady)
	}
	return nil
}
