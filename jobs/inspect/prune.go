package inspect

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/jobs"
)

// Prune removes the jobs of one final status that ended more than age ago and returns how many: in transactions of a
// few hundred, so an error half-way leaves some of them removed. Runners do it by themselves: see [jobs.Retention].
func (in *Inspector) Prune(ctx context.Context, status jobs.Status, age time.Duration) (int64, error) {
	sum, err := prune.Jobs(ctx, in.scope, status, age)
	return sum.Deleted, err
}

// PruneHistory removes what [Inspector.History] does not return any more: minutes older than 6 hours, quarters of an hour
// older than 30 days. Runners do it by themselves.
func (in *Inspector) PruneHistory(ctx context.Context) error { return prune.History(ctx, in.scope) }
