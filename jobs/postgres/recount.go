package postgres

import (
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// Recount implements [engine.Store]. Its one statement reads a snapshot of its own and adds what the counts lack as notes: it
// locks nothing that others write.
func (s *backend) Recount(ctx context.Context) (wrong int64, err error) {
	err = s.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		wrong, err = s.RecountIn(ctx, q)
		return err
	})
	return wrong, err
}

// RecountIn implements [engine.Store].
func (s *backend) RecountIn(ctx context.Context, q db.Querier) (int64, error) {
	if err := q.LockCounts(ctx); err != nil {
		return 0, err
	}
	return q.RecountJobs(ctx, core.Micros(s.Now()))
}
