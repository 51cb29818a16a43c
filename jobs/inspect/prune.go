package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs"
)

// Prune removes the jobs of one final status that ended more than age ago and returns their number. It works in transactions of a few
// hundred, so an error half-way leaves some of them removed. Runners prune by themselves: see [jobs.Retention]. The error is a
// [jobs.RefusedError] when the database refused to remove some, for example by a foreign key of the application: all others are removed.
func (in *Inspector) Prune(ctx context.Context, status jobs.Status, age time.Duration) (int64, error) {
	if err := prune.Retry(ctx, in.scope); err != nil {
		return 0, fmt.Errorf("prune %s jobs: %w", status, err)
	}
	sum, err := prune.Jobs(ctx, in.scope, &refusal.Notes{}, status, age)
	if err == nil {
		err = in.confirm(ctx)
	}
	if err == nil && sum.Refused.N > 0 {
		err = fmt.Errorf("prune %s jobs: %w", status, &sum.Refused)
	}
	return sum.Deleted, err
}

// confirm commits a transaction without changes. A repeated call may find nothing left to do, because an earlier one of unknown outcome has
// done it: its success counts once the database has confirmed a later commit. In the caller's transaction it does nothing.
func (in *Inspector) confirm(ctx context.Context) error {
	if in.scope.Tx != nil {
		return nil
	}
	return in.scope.Write(ctx, 0, func(ctx context.Context, q db.Querier) error {
		_, err := q.GetChangeMark(ctx)
		return err
	})
}

// PruneHistory removes rows that [Inspector.History] no longer returns: minutes older than 6 hours, quarters of an hour
// older than 30 days. Runners do it by themselves, and sooner if [jobs.Retention] says so.
func (in *Inspector) PruneHistory(ctx context.Context) error {
	return prune.History(ctx, in.scope, stats.KeepFine, stats.KeepCoarse)
}
