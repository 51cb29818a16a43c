package main

import (
	"context"
	"fmt"
)

// processes is how many share a drain.
const processes = 4

// drainProcesses drains a queue with worker processes and counts every start.
func drainProcesses(ctx context.Context, s settings, d database) (figures, error) {
	store, client, err := open(ctx, d)
	if err != nil {
		return figures{}, err
	}
	defer store.Close()
	n := s.jobs / 2
	if _, err := noop.EnqueueMany(ctx, client, payloads(0, n, 80)); err != nil {
		return figures{}, err
	}
	return drainBy(ctx, s, d, "drain", n)
}

func drainBy(ctx context.Context, s settings, d database, role string, n int) (figures, error) {
	workers, err := startChildren(ctx, processes, task{
		Role: role, Path: d.path, Concurrency: s.concurrency, Profile: s.profile,
	})
	if err != nil {
		return figures{}, err
	}
	clock := d.start()
	if err := workers.begin(); err != nil {
		return figures{}, err
	}
	if err := workers.done(); err != nil {
		return figures{}, err
	}
	f := clock.stop(n)
	reports, err := workers.reports()
	if err != nil {
		return figures{}, err
	}
	ran := map[int64]bool{}
	for _, r := range reports {
		f.cpu += r.CPU
		f.starts += len(r.Begun)
		for _, b := range r.Begun {
			ran[b.Job] = true
		}
	}
	if len(ran) != n {
		return figures{}, fmt.Errorf("%d jobs ran, not %d", len(ran), n)
	}
	return f, nil
}
