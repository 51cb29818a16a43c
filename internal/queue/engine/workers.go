package engine

import (
	"context"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// LiveWorkers returns the workers that have not ended and whose lease is not over, oldest first. The process of one whose lease is over
// has died or stands still, although no other worker may have noticed.
func LiveWorkers(ctx context.Context, q db.Querier, now time.Time) ([]db.Worker, error) {
	rows, err := q.ListLiveWorkers(ctx)
	return slices.DeleteFunc(rows, func(w db.Worker) bool { return core.Time(w.LeaseUntil).Before(now) }), err
}
