package maintenance

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// EndPauses resumes the queues whose pause is over.
func EndPauses(ctx context.Context, store engine.Store) error {
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
