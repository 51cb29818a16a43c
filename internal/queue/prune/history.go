package prune

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/stats"
)

// stepsAtOnce is the largest number of steps of the history that one transaction removes. Each has some rows for every kind.
const stepsAtOnce = 10

// History removes the minutes and the quarters of an hour of the history that are older than these times, and counts that are 0. A
// failing part stops no other part, and a step that the database refuses to remove stops no other step.
func History(ctx context.Context, s *engine.Scope, minutes, quarters time.Duration) error {
	now := s.Now()
	err := errors.Join(
		s.Write(ctx, 0, func(ctx context.Context, q db.Querier) error {
			_, err := q.DeleteEmptyJobCounts(ctx)
			return err
		}),
		steps(ctx, s, stats.FineStep, now.Add(-minutes)),
		steps(ctx, s, stats.CoarseStep, now.Add(-quarters)),
	)
	if err != nil {
		return fmt.Errorf("prune the history: %w", err)
	}
	return nil
}

// steps removes the steps of one length that began before a time, some in each transaction, or one in each when the database
// refuses to remove one of them. It returns the last refusal.
func steps(ctx context.Context, s *engine.Scope, length time.Duration, before time.Time) (refused error) {
	from, atOnce := core.Micros(time.Unix(0, 0)), stepsAtOnce
	for again := true; again; {
		var until time.Time
		err := s.Write(ctx, 0, func(ctx context.Context, q db.Querier) error {
			again = false
			oldest, err := q.GetOldestJobHistory(ctx, db.GetOldestJobHistoryParams{Step: length.Microseconds(), Since: from})
			if err != nil || oldest == 0 || oldest >= core.Micros(before) {
				return err
			}
			until = core.Earlier(before, core.Time(oldest).Add(time.Duration(atOnce)*length))
			again = until.Before(before)
			_, err = q.DeleteJobHistory(ctx, db.DeleteJobHistoryParams{Step: length.Microseconds(), Since: from, Before: core.Micros(until)})
			return err
		})
		switch {
		case err == nil:
		case !s.Store.RefusesRow(err) || until.IsZero():
			return err
		case atOnce > 1:
			atOnce, again = 1, true
		default:
			refused, from = err, core.Micros(until)
		}
	}
	return refused
}
