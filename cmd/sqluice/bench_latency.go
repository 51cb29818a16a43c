package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

const (
	latencyJobs  = 200
	latencyWarm  = 10 // before them, not counted
	latencyEvery = 20 * time.Millisecond
	latencySlots = 10

	latencyNote = "50 a second, in an idle worker"
)

// latencyHere measures the latency of a worker in this process.
func (b *bench) latencyHere(ctx context.Context) (_ benchLine, _ string, err error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	waits := make(chan time.Duration, 1)
	ended := make(chan error, 1)
	go func() { ended <- waitForJobs(running, b.client, b.progress, func(d time.Duration) { waits <- d }) }()
	line, err := b.paced(ctx, func() (time.Duration, error) {
		select {
		case d := <-waits:
			return d, nil
		case err := <-ended:
			ended <- nil
			return 0, errors.Join(err, errors.New("the worker has ended"))
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	stop()
	return line, latencyNote, errors.Join(err, <-ended)
}

// latencyThere measures the latency of a worker in another process.
func (b *bench) latencyThere(ctx context.Context) (_ benchLine, _ string, err error) {
	others, err := b.startChildren(ctx, 1, benchLatency)
	defer func() { err = errors.Join(err, others.close(ctx)) }()
	if err != nil {
		return benchLine{}, "", err
	}
	if err := others.begin(); err != nil {
		return benchLine{}, "", err
	}
	line, err := b.paced(ctx, others[0].wait)
	return line, latencyNote, err
}

// paced enqueues one job after the other; wait returns how long the last one waited.
func (b *bench) paced(ctx context.Context, wait func() (time.Duration, error)) (benchLine, error) {
	timer := time.NewTicker(latencyEvery)
	defer timer.Stop()
	var e effort
	var laps []time.Duration
	for i := range latencyWarm + latencyJobs {
		if i == latencyWarm {
			e = beginEffort()
		}
		if _, err := b.client.Enqueue(ctx, benchLatency, benchPayload(time.Now(), b.flags.payload)); err != nil {
			return benchLine{}, err
		}
		d, err := wait()
		if err != nil {
			return benchLine{}, err
		}
		if i >= latencyWarm {
			laps = append(laps, d)
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return benchLine{}, ctx.Err()
		}
	}
	line := e.line(len(laps))
	line.JobsPerSecond, line.Concurrency = 0, latencySlots
	line.setLaps(laps)
	return line, nil
}

// waitForJobs runs a worker until ctx ends, and reports how long each job waited: from before its enqueue to the start of its
// handler, by the machine's clock. Reports do not overlap.
func waitForJobs(ctx context.Context, client *jobs.Client, log *progress, tell func(time.Duration)) error {
	runner, err := jobs.NewRunner(client, jobs.Config{
		Queues: map[string]int{jobs.DefaultQueue: latencySlots}, Logger: newLogger(log, "text", "warn"), Grace: -1,
	})
	if err != nil {
		return err
	}
	var telling sync.Mutex
	jobs.Kind[json.RawMessage]{Name: benchLatency}.Handle(runner, func(_ context.Context, _ jobs.Job, payload json.RawMessage) error {
		now := time.Now()
		var sent struct{ At int64 }
		if err := json.Unmarshal(payload, &sent); err != nil {
			return fmt.Errorf("the payload of a job of the bench: %w", err)
		}
		telling.Lock()
		defer telling.Unlock()
		tell(now.Sub(time.Unix(0, sent.At)))
		return nil
	})
	return runner.Run(ctx)
}
