package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// soakKeep is the time for which a soak's finished jobs stay.
const soakKeep = 30 * time.Second

// soakRole counts jobs up to the number of the task.
func soakRole(ctx context.Context, t task, p *parent) (report, error) {
	var count atomic.Int64
	all := make(chan struct{})
	start := func(int) {
		if count.Add(1) == int64(t.Jobs) {
			close(all)
		}
	}
	keep := jobs.Retention{Done: soakKeep, Cancelled: soakKeep}
	return withRunner(ctx, t, p, keep, start, func(ctx context.Context, _ *jobs.Client) (report, error) {
		for before := int64(-1); before != count.Load(); {
			before = count.Load()
			select {
			case <-all:
				return report{}, nil
			case <-ctx.Done():
				return report{}, ctx.Err()
			case <-time.After(lastStart):
			}
		}
		return report{}, fmt.Errorf("%d jobs were started, not %d", count.Load(), t.Jobs)
	})
}

func loadRole(ctx context.Context, t task, p *parent) (report, error) {
	return withClient(ctx, t, p, func(client *jobs.Client) (report, error) {
		return report{}, paceOnly(ctx, t, adder(ctx, t, client))
	})
}

func pruneRole(ctx context.Context, t task, p *parent) (report, error) {
	return withClient(ctx, t, p, func(client *jobs.Client) (report, error) {
		n, err := inspect.New(client).Prune(ctx, jobs.StatusDone, 0)
		if err == nil && n != int64(t.Jobs) {
			err = fmt.Errorf("%d jobs were pruned, not %d", n, t.Jobs)
		}
		return report{}, err
	})
}
