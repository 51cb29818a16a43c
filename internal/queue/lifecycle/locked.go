package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// IsLocked reports whether a write failed because other transactions have locked some of its rows: the others can be written without them.
func IsLocked(store engine.Store, err error) bool {
	return errors.Is(err, jobtype.ErrBusy) && store.LocksRows()
}

// Locked returns the jobs of ids whose rows other transactions have locked, without waiting: the others can be changed now. A rule of the
// application may still need further rows. It returns none where an engine does not lock single rows.
func Locked(ctx context.Context, store engine.Store, ids []int64) (locked []int64, err error) {
	if !store.LocksRows() || len(ids) == 0 {
		return nil, nil
	}
	err = store.Write(engine.Briefly(ctx), func(ctx context.Context, q db.Querier) (err error) {
		locked, err = q.ListLockedJobs(ctx, core.JSONIDs(ids))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for locked jobs: %w", err)
	}
	return locked, nil
}
