package main

import (
	"context"
	"slices"
	"time"
)

const (
	largePadding = 10_000
	manySlots    = 1000
)

// drainBy fills a queue and has worker processes drain it.
func drainBy(processes int) func(context.Context, running) (figures, error) {
	return func(ctx context.Context, r running) (figures, error) {
		if err := r.prepare(ctx, r.task(roleBulk)); err != nil {
			return figures{}, err
		}
		return r.drain(ctx, processes, r.task(roleDrain))
	}
}

// drainLarge drains jobs with payloads of 10 KB.
func drainLarge(ctx context.Context, r running) (figures, error) {
	fill := r.task(roleBulk)
	fill.Size = largePadding
	if err := r.prepare(ctx, fill); err != nil {
		return figures{}, err
	}
	return r.drain(ctx, 1, r.task(roleDrain))
}

// drainBesideBacklog drains jobs beside finished and scheduled ones.
func drainBesideBacklog(ctx context.Context, r running) (figures, error) {
	others := r.task(roleBacklog)
	others.Jobs = r.backlog
	if err := r.prepare(ctx, others); err != nil {
		return figures{}, err
	}
	return drainBy(1)(ctx, r)
}

// drainSlow drains jobs whose handlers take time, in many slots. It shows whether the queue keeps them busy.
func drainSlow(takes time.Duration) func(context.Context, running) (figures, error) {
	return func(ctx context.Context, r running) (figures, error) {
		if err := r.prepare(ctx, r.task(roleBulk)); err != nil {
			return figures{}, err
		}
		t := r.task(roleDrain)
		t.Hold, t.Concurrency = takes, manySlots
		return r.drain(ctx, 1, t)
	}
}

// drain lets worker processes drain the queue, and counts every start.
func (r running) drain(ctx context.Context, processes int, t task) (figures, error) {
	f, reports, err := r.together(ctx, slices.Repeat([]task{r.profiled(t)}, processes))
	if err != nil {
		return figures{}, err
	}
	lists := make([][]jobStart, len(reports))
	for i, report := range reports {
		lists[i] = report.Begun
	}
	lost, again := countStarts(t.Jobs, lists...)
	f.isRate = true
	f.lost, f.errors = lost, f.errors+lost
	f.seconds -= stalled(reports).Seconds()
	f.duplicates = again
	if processes > 1 {
		share := leastShare(lists...)
		f.leastShare = &share
	}
	if t.Hold > 0 {
		f.slotsBusy = slotsBusy(t.Concurrency, t.Hold, lists...)
	}
	return f, nil
}

// stalled returns the time at the end in which all processes waited and no job came: it is not part of a drain.
func stalled(reports []report) time.Duration {
	least := reports[0].Stalled
	for _, r := range reports {
		least = min(least, r.Stalled)
	}
	return least
}
