package limits

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// Set sets a limit, and has the next claims look at its lanes.
func Set(ctx context.Context, q db.Querier, p db.SetLimitParams) error {
	if err := q.SetLimit(ctx, p); err != nil {
		return err
	}
	return wake(ctx, q, p.Kind, p.LimitKey, p.Now)
}

// Delete removes a limit, and has the next claims look at its lanes. It reports whether there was one. now is in microseconds.
func Delete(ctx context.Context, q db.Querier, kind, key string, now int64) (bool, error) {
	n, err := q.DeleteLimit(ctx, db.DeleteLimitParams{Kind: kind, LimitKey: key})
	if err != nil || n == 0 {
		return false, err
	}
	return true, wake(ctx, q, kind, key, now)
}

// wake makes the lanes of a key ready; all of the kind when the key is empty.
func wake(ctx context.Context, q db.Querier, kind, key string, now int64) error {
	if _, err := q.WakeKind(ctx, db.WakeKindParams{Now: now, Kind: kind, LimitKey: core.Optional(key)}); err != nil {
		return fmt.Errorf("make the lanes of the limit ready: %w", err)
	}
	return nil
}
