package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

const (
	laps         = 150
	warmUp       = 10 // laps that do not count
	lapsPerSec   = 50
	latencySlots = 10
)

// latencySame measures the time from before an insert to the start of its handler, 50 a second, in an idle worker of
// the same process.
func latencySame(ctx context.Context, r running) (figures, error) {
	t := r.profiled(r.task(roleLatency))
	t.Jobs, t.Rate, t.Concurrency = laps+warmUp, lapsPerSec, latencySlots
	f, reports, err := r.together(ctx, []task{t})
	if err != nil {
		return figures{}, err
	}
	return withLaps(f, reports[0].Sent, reports[0].Begun, warmUp)
}

// latencyOther measures that time when another process adds the jobs and plays the role.
func latencyOther(producer string) func(context.Context, running) (figures, error) {
	return func(ctx context.Context, r running) (figures, error) {
		t := r.profiled(r.task(roleWork))
		t.Jobs, t.Concurrency = laps+warmUp, latencySlots
		p := r.task(producer)
		p.Jobs, p.Rate = t.Jobs, lapsPerSec
		return r.latencyTo(ctx, t, p, warmUp)
	}
}

const (
	loadFor  = 4 * time.Second
	loadWarm = time.Second // the beginning, which does not count
	// loadEvery is the time between additions: several jobs by one call, since no caller adds single ones fast enough.
	loadEvery = 5 * time.Millisecond
)

// latencyHalfLoad measures how fast the system drains a queue, and then adds jobs half as fast.
func latencyHalfLoad(ctx context.Context, r running) (figures, error) {
	drained, err := drainBy(1)(ctx, r)
	if err != nil {
		return figures{}, err
	}
	if drained.errors > 0 || drained.duplicates > 0 {
		return figures{}, fmt.Errorf("before the load: %d errors, %d duplicates", drained.errors, drained.duplicates)
	}
	rate := float64(drained.n) / drained.seconds / 2
	t := r.profiled(r.task(roleWork))
	t.Jobs = max(1, int(rate*loadFor.Seconds()))
	p := r.task(rolePaced)
	p.Jobs, p.Rate, p.Batch = t.Jobs, rate, max(1, int(math.Round(rate*loadEvery.Seconds())))
	f, err := r.latencyTo(ctx, t, p, int(rate*loadWarm.Seconds()))
	f.isRate = true
	return f, err
}

// latencyTo measures a worker process to which another adds jobs.
func (r running) latencyTo(ctx context.Context, worker, producer task, without int) (figures, error) {
	f, reports, err := r.together(ctx, []task{worker, producer})
	if err != nil {
		return figures{}, err
	}
	return withLaps(f, reports[1].Sent, reports[0].Begun, without)
}

// withLaps adds the latencies of a run's jobs to its figures.
func withLaps(f figures, sent []int64, list []jobStart, without int) (figures, error) {
	if len(sent) != f.n {
		return figures{}, fmt.Errorf("%d jobs were sent, not %d", len(sent), f.n)
	}
	lost, again := countStarts(f.n, list)
	f.laps = lapsOf(sent, list, without)
	f.errors += lost
	f.duplicates = again
	return f, nil
}
