package sqlite

import (
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// Exchange implements [engine.Store]. There are no round trips, and no other transaction comes between, so it looks for due jobs
// before it claims.
func (s *backend) Exchange(ctx context.Context, x *engine.Exchange) error {
	x.Alone = true
	return s.Write(ctx, func(ctx context.Context, q db.Querier) error {
		x.Begin()
		steps := []engine.Func{x.Record}
		if x.Claiming {
			steps = append(append(steps, x.Look, func(ctx context.Context, q db.Querier) error {
				if !x.IsDue() {
					return nil
				}
				return engine.InOrder(ctx, q, []engine.Func{x.Promote, x.Look})
			}), x.Claims...)
		}
		return engine.InOrder(ctx, q, append(steps, x.Conclude))
	})
}
