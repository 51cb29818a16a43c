package main

import (
	"context"
	"time"
)

// settle is how long a worker process is left alone before its idle time counts, and idleFor how long that is.
const (
	settle  = 2 * time.Second
	idleFor = 15 * time.Second
)

// idle is the processor time of a worker process that has nothing to do, and of the server that it asks.
func idle(ctx context.Context, _ settings, d database) (figures, error) {
	store, _, err := open(ctx, d)
	if err != nil {
		return figures{}, err
	}
	if err := store.Close(); err != nil {
		return figures{}, err
	}
	workers, err := startChildren(ctx, 1, task{Role: "idle", Path: d.path, Concurrency: 10})
	if err != nil {
		return figures{}, err
	}
	time.Sleep(settle)
	clock := d.start()
	if err := workers.begin(); err != nil {
		return figures{}, err
	}
	if err := workers.done(); err != nil {
		return figures{}, err
	}
	f := clock.stop(0)
	reports, err := workers.reports()
	if err != nil {
		return figures{}, err
	}
	f.cpu = reports[0].CPU
	return f, nil
}
