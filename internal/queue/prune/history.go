package prune

import (
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/stats"
)

// stepsAtOnce is how many steps of the history one transaction removes. Each has some rows for every kind.
const stepsAtOnce = 10

// History removes the steps of the history that are older than [stats.KeepFine] and [stats.KeepCoarse], and counts that are 0.
func History(ctx context.Context, s *engine.Scope) error {
	now := s.Now()
	err := s.Write(ctx, 0, func(ctx context.Context, q db.Querier) error {
		_, err := q.DeleteEmptyJobCounts(ctx)
		return err
	})
	if err == nil {
		err = steps(ctx, s, stats.FineStep, now.Add(-stats.KeepFine))
	}
	if err == nil {
		err = steps(ctx, s, stats.CoarseStep, now.Add(-stats.KeepCoarse))
	}
	if err != nil {
		return fmt.Errorf("prune the history: %w", err)
	}
	return nil
}

// steps removes the steps of one length that began before a time, some in each transaction.
func steps(ctx context.Context, s *engine.Scope, length time.Duration, before time.Time) error {
	for again := true; again; {
		err := s.Write(ctx, 0, func(ctx context.Context, q db.Querier) error {
			again = false
			oldest, err := q.GetOldestJobHistory(ctx, length.Microseconds())
			if err != nil || oldest == 0 || oldest >= core.Micros(before) {
				return err
			}
			until := core.Earlier(before, core.Time(oldest).Add(stepsAtOnce*length))
			again = until.Before(before)
			_, err = q.DeleteJobHistory(ctx, db.DeleteJobHistoryParams{Step: length.Microseconds(), Before: core.Micros(until)})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
