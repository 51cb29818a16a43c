package sqlite

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// Exchange implements [engine.Store].
func (s *backend) Exchange(ctx context.Context, p engine.Plan) (out engine.Outcome, err error) {
	err = s.Write(ctx, func(ctx context.Context, q db.Querier) error {
		began := time.Now()
		out = engine.Outcome{Now: p.Now(s.Now)}
		err := engine.RunPlan(ctx, q, claims{s.writer}, p, &out)
		out.Held = time.Since(began)
		return err
	})
	return out, err
}
