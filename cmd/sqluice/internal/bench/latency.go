package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

const (
	latencyJobs  = 200
	latencyWarm  = 10 // warm-up jobs, which are not measured
	latencyEvery = 20 * time.Millisecond
	latencySlots = 10

	latencyNote = "50 a second, in an idle worker"
)

// latencyHere measures the latency of a worker in this process.
func (r *run) latencyHere(ctx context.Context) (_ Line, _ string, err error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	waits := make(chan time.Duration, 1)
	ended := make(chan error, 1)
	go func() { ended <- waitForJobs(running, r.client, r.host.Log, func(d time.Duration) { waits <- d }) }()
	line, err := r.paced(ctx, func() (time.Duration, error) {
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
func (r *run) latencyThere(ctx context.Context) (_ Line, _ string, err error) {
	others, err := r.startChildren(ctx, 1, RoleLatency)
	defer func() { err = errors.Join(err, others.close(ctx)) }()
	if err != nil {
		return Line{}, "", err
	}
	if err := others.start(); err != nil {
		return Line{}, "", err
	}
	line, err := r.paced(ctx, others[0].readWait)
	return line, latencyNote, err
}

// paced enqueues one job after the other, at most one in 20 ms. wait returns the wait of the last one.
func (r *run) paced(ctx context.Context, wait func() (time.Duration, error)) (Line, error) {
	timer := time.NewTicker(latencyEvery)
	defer timer.Stop()
	var e stopwatch
	var laps []time.Duration
	for i := range latencyWarm + latencyJobs {
		if i == latencyWarm {
			e = startStopwatch()
		}
		if _, err := r.client.Enqueue(ctx, RoleLatency, payloadOf(time.Now(), r.load.Payload)); err != nil {
			return Line{}, err
		}
		d, err := wait()
		if err != nil {
			return Line{}, err
		}
		if i >= latencyWarm {
			laps = append(laps, d)
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return Line{}, ctx.Err()
		}
	}
	line := e.line(len(laps))
	line.JobsPerSecond, line.Concurrency = 0, latencySlots
	line.setLaps(laps)
	return line, nil
}

// waitForJobs runs a worker until ctx ends. It calls report with the wait of each job, one call at a time: the time from before the
// enqueue to the start of the handler, by the machine's clock.
func waitForJobs(ctx context.Context, client *jobs.Client, log *slog.Logger, report func(time.Duration)) error {
	runner, err := jobs.NewRunner(client, jobs.Config{
		Queues: map[string]int{jobs.DefaultQueue: latencySlots}, Logger: log, Grace: -1,
	})
	if err != nil {
		return err
	}
	var reporting sync.Mutex
	jobs.Kind[json.RawMessage]{Name: RoleLatency}.Handle(runner, func(_ context.Context, _ jobs.Job, payload json.RawMessage) error {
		now := time.Now()
		var sent struct{ At int64 }
		if err := json.Unmarshal(payload, &sent); err != nil {
			return fmt.Errorf("decode the payload of a bench job: %w", err)
		}
		reporting.Lock()
		defer reporting.Unlock()
		report(now.Sub(time.Unix(0, sent.At)))
		return nil
	})
	return runner.Run(ctx)
}
