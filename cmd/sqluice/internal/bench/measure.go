package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

const (
	// RoleDrain and RoleLatency are the roles of a [Process], and the kinds of its jobs. A drain leaves the jobs of single inserts.
	RoleDrain   = "drain"
	RoleLatency = "latency"
	kindInsert  = "insert"

	// insertTime bounds the measurement of single inserts: a disk may take 10 ms for each commit.
	insertTime = 5 * time.Second

	flushes    = 100
	flushSize  = 4 << 10
	roundTrips = 200
	callers    = 64

	// MinPayload is the least size of a payload in bytes: a payload holds a time.
	MinPayload = 40
)

// payloadOf returns JSON of size bytes that holds a time in Unix nanoseconds.
func payloadOf(at time.Time, size int) json.RawMessage {
	text := fmt.Appendf(nil, `{"at":%d,"pad":"`, at.UnixNano())
	text = append(text, bytes.Repeat([]byte("x"), max(0, size-len(text)-len(`"}`)))...)
	return append(text, `"}`...)
}

// stopwatch holds the time and the CPU time of this process at the start of a measurement.
type stopwatch struct {
	began time.Time
	cpu   time.Duration
}

func startStopwatch() stopwatch { return stopwatch{time.Now(), cpuTime()} }

// line returns the result for n jobs that have ended now.
func (e stopwatch) line(n int) Line { return e.lineAt(n, time.Now()) }

// lineAt returns the result for n jobs of which the last one ended at end.
func (e stopwatch) lineAt(n int, end time.Time) Line {
	seconds := end.Sub(e.began).Seconds()
	return Line{
		N: n, Processes: 1, Concurrency: 1, JobsPerSecond: rounded(float64(n)/seconds, 1), Seconds: rounded(seconds, 3),
		CPUSeconds: rounded((cpuTime() - e.cpu).Seconds(), 3), PeakRSS: peakRSS(),
	}
}

// repeat measures n calls of do one after the other. It starts no call after insertTime.
func repeat(ctx context.Context, n int, do func() error) (Line, error) {
	e := startStopwatch()
	laps := make([]time.Duration, 0, n)
	for len(laps) < n && ctx.Err() == nil && time.Since(e.began) < insertTime {
		lap := time.Now()
		if err := do(); err != nil {
			return Line{}, err
		}
		laps = append(laps, time.Since(lap))
	}
	line := e.line(len(laps))
	line.setLaps(laps)
	return line, ctx.Err()
}

// flush measures writes and flushes of a page on the disk of the database.
func (r *run) flush(ctx context.Context) (_ Line, _ string, err error) {
	file, err := os.Create(filepath.Join(filepath.Dir(r.scratch.database.Path), "flush"))
	if err != nil {
		return Line{}, "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	page := make([]byte, flushSize)
	r.base, err = repeat(ctx, flushes, func() error {
		if _, err := file.Write(page); err != nil {
			return err
		}
		return file.Sync()
	})
	r.base.JobsPerSecond = 0
	return r.base, "4 KiB written and flushed", err
}

// roundTrip measures the time of a statement without work for the server.
func (r *run) roundTrip(ctx context.Context) (_ Line, _ string, err error) {
	r.base, err = repeat(ctx, roundTrips, func() error {
		_, err := engine.StoreOf(r.scratch.store).Upkeep().EngineVersion(ctx)
		return err
	})
	r.base.JobsPerSecond = 0
	return r.base, "to the server and back", err
}

// insertOne enqueues jobs by one caller, one job after the other.
func (r *run) insertOne(ctx context.Context) (Line, string, error) {
	payload := payloadOf(time.Time{}, r.load.Payload)
	line, err := repeat(ctx, r.load.Jobs, func() error {
		_, err := r.client.Enqueue(ctx, kindInsert, payload)
		return err
	})
	return line, r.commitNote(line), err
}

// commitNote returns the share of a commit that is one flush to disk or one round trip.
func (r *run) commitNote(l Line) string {
	share := func(part float64) float64 { return 100 * min(1, part/max(l.P50, 0.001)) }
	switch {
	case r.scratch.database.Postgres():
		return fmt.Sprintf("a commit each; one round trip is %.0f %% of it", share(r.base.P50))
	case r.load.Durability == "full":
		return fmt.Sprintf("a commit each; one flush to disk is %.0f %% of it", share(r.base.P50))
	default:
		return "a commit each, which does not wait for the disk"
	}
}

// insertMany enqueues jobs by several concurrent callers, each one job after the other.
func (r *run) insertMany(ctx context.Context) (Line, string, error) {
	payload := payloadOf(time.Time{}, r.load.Payload)
	e := startStopwatch()
	var taken atomic.Int64
	var group sync.WaitGroup
	errs, laps := make([]error, callers), make([][]time.Duration, callers)
	for i := range callers {
		group.Go(func() {
			for errs[i] == nil && taken.Add(1) <= int64(r.load.Jobs) && time.Since(e.began) < insertTime {
				lap := time.Now()
				_, errs[i] = r.client.Enqueue(ctx, kindInsert, payload)
				laps[i] = append(laps[i], time.Since(lap))
			}
		})
	}
	group.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return Line{}, "", errs[i] // the other callers have the same error
	}
	var all []time.Duration
	for _, list := range laps {
		all = append(all, list...)
	}
	line := e.line(len(all))
	line.Concurrency = callers
	line.setLaps(all)
	return line, "waiting callers share a commit, or each has a connection", nil
}

// bulk enqueues all jobs of the drain in one transaction.
func (r *run) bulk(ctx context.Context) (Line, string, error) {
	payloads := make([]json.RawMessage, r.load.Jobs)
	payload := payloadOf(time.Time{}, r.load.Payload)
	for i := range payloads {
		payloads[i] = payload
	}
	e := startStopwatch()
	_, err := r.client.EnqueueMany(ctx, RoleDrain, payloads)
	return e.line(r.load.Jobs), "one commit", err
}

// drain runs the jobs of bulk in this process and in others. It fails if a job did not run.
func (r *run) drain(ctx context.Context) (_ Line, _ string, err error) {
	others, err := r.startChildren(ctx, r.load.Processes-1, RoleDrain)
	defer func() { err = errors.Join(err, others.close(ctx)) }()
	if err != nil {
		return Line{}, "", err
	}
	e := startStopwatch()
	if err := others.start(); err != nil {
		return Line{}, "", err
	}
	own, err := drainQueue(ctx, r.client, r.load.Concurrency, r.host.Log)
	if err = errors.Join(err, ctx.Err()); err != nil { // a runner returns no error after a stop
		return Line{}, "", err
	}
	reports, err := others.reports()
	if err != nil {
		return Line{}, "", err
	}
	all := append(reports, own)
	line := e.lineAt(r.load.Jobs, lastEnd(all))
	line.Processes, line.Concurrency = r.load.Processes, r.load.Concurrency
	var ran int64
	least := int64(r.load.Jobs)
	for _, r := range all {
		ran += r.Ran
		least = min(least, r.Ran)
		line.Duplicates += r.Again
		line.CPUSeconds = rounded(line.CPUSeconds+r.CPU, 3)
		line.PeakRSS = max(line.PeakRSS, r.PeakRSS)
	}
	if r.load.Processes > 1 {
		line.LeastShare = rounded(float64(least)*float64(r.load.Processes)/float64(r.load.Jobs), 3)
	}
	if missing := int64(r.load.Jobs) - (ran - line.Duplicates); missing != 0 {
		return Line{}, "", fmt.Errorf("%d of %d jobs ran", ran-line.Duplicates, r.load.Jobs)
	}
	return line, "handlers that do nothing, recorded and claimed in batches", nil
}

// lastEnd returns the time at which the last handler of any process returned.
func lastEnd(reports []report) time.Time {
	var last int64
	for _, r := range reports {
		last = max(last, r.LastEnd)
	}
	return time.Unix(0, last)
}

// drainQueue runs jobs until the queue has none, together with the other processes. Its report lacks the CPU time.
func drainQueue(ctx context.Context, client *jobs.Client, concurrency int, log *slog.Logger) (report, error) {
	runner, err := jobs.NewRunner(client, jobs.Config{
		Queues: map[string]int{jobs.DefaultQueue: concurrency}, Logger: log, Grace: -1,
	})
	if err != nil {
		return report{}, err
	}
	var ran, again, last atomic.Int64
	jobs.Kind[json.RawMessage]{Name: RoleDrain}.Handle(runner, func(_ context.Context, job jobs.Job, _ json.RawMessage) error {
		ran.Add(1)
		if job.Attempt > 1 {
			again.Add(1)
		}
		last.Store(time.Now().UnixNano())
		return nil
	})
	err = runner.Drain(ctx)
	return report{Ran: ran.Load(), Again: again.Load(), LastEnd: last.Load(), PeakRSS: peakRSS()}, err
}
