package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	// The kinds of the bench's jobs. A drain runs only its own kind, not the jobs of single inserts.
	benchInsert  = "insert"
	benchDrain   = "drain"
	benchLatency = "latency"

	// insertTime bounds the measurement of single inserts: a disk may take 10 ms for each commit.
	insertTime = 5 * time.Second

	flushes    = 100
	flushSize  = 4 << 10
	roundTrips = 200
	callers    = 64

	// minBenchPayload leaves room for the time in a payload.
	minBenchPayload = 40
)

// benchPayload returns JSON of a size that holds a time, in Unix nanoseconds.
func benchPayload(at time.Time, size int) json.RawMessage {
	text := fmt.Appendf(nil, `{"at":%d,"pad":"`, at.UnixNano())
	text = append(text, bytes.Repeat([]byte("x"), max(0, size-len(text)-len(`"}`)))...)
	return append(text, `"}`...)
}

// effort is what this process has used since its start.
type effort struct {
	began time.Time
	cpu   time.Duration
}

func beginEffort() effort { return effort{time.Now(), cpuTime()} }

// line returns the result for n jobs up to now.
func (e effort) line(n int) benchLine { return e.lineAt(n, time.Now()) }

func (e effort) lineAt(n int, end time.Time) benchLine {
	seconds := end.Sub(e.began).Seconds()
	return benchLine{
		N: n, Processes: 1, Concurrency: 1, JobsPerSecond: rounded(float64(n)/seconds, 1), Seconds: rounded(seconds, 3),
		CPUSeconds: rounded((cpuTime() - e.cpu).Seconds(), 3), PeakRSS: peakRSS(),
	}
}

// repeat measures one operation repeatedly.
func repeat(ctx context.Context, n int, do func() error) (benchLine, error) {
	e := beginEffort()
	laps := make([]time.Duration, 0, n)
	for len(laps) < n && ctx.Err() == nil && time.Since(e.began) < insertTime {
		lap := time.Now()
		if err := do(); err != nil {
			return benchLine{}, err
		}
		laps = append(laps, time.Since(lap))
	}
	line := e.line(len(laps))
	line.setLaps(laps)
	return line, ctx.Err()
}

// flush measures the disk: it writes and flushes a page.
func (b *bench) flush(ctx context.Context) (_ benchLine, _ string, err error) {
	file, err := os.Create(filepath.Join(filepath.Dir(b.place.database.path), "flush"))
	if err != nil {
		return benchLine{}, "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	page := make([]byte, flushSize)
	b.base, err = repeat(ctx, flushes, func() error {
		if _, err := file.Write(page); err != nil {
			return err
		}
		return file.Sync()
	})
	b.base.JobsPerSecond = 0
	return b.base, "4 KiB written and flushed", err
}

// roundTrip measures the round trip to the server.
func (b *bench) roundTrip(ctx context.Context) (_ benchLine, _ string, err error) {
	b.base, err = repeat(ctx, roundTrips, func() error {
		_, err := engine.StoreOf(b.place.store).Upkeep().EngineVersion(ctx)
		return err
	})
	b.base.JobsPerSecond = 0
	return b.base, "to the server and back", err
}

func (b *bench) insertOne(ctx context.Context) (benchLine, string, error) {
	payload := benchPayload(time.Time{}, b.flags.payload)
	line, err := repeat(ctx, b.flags.jobs, func() error {
		_, err := b.client.Enqueue(ctx, benchInsert, payload)
		return err
	})
	return line, b.commitNote(line), err
}

// commitNote returns what a commit waits for.
func (b *bench) commitNote(l benchLine) string {
	share := func(part float64) float64 { return 100 * min(1, part/max(l.P50, 0.001)) }
	switch {
	case b.place.database.postgres():
		return fmt.Sprintf("a commit each; one round trip is %.0f %% of it", share(b.base.P50))
	case b.flags.level() == "full":
		return fmt.Sprintf("a commit each; one flush to disk is %.0f %% of it", share(b.base.P50))
	default:
		return "a commit each, which does not wait for the disk"
	}
}

// insertMany enqueues jobs by several concurrent callers, each one job after the other.
func (b *bench) insertMany(ctx context.Context) (benchLine, string, error) {
	payload := benchPayload(time.Time{}, b.flags.payload)
	e := beginEffort()
	var taken atomic.Int64
	var group sync.WaitGroup
	errs, laps := make([]error, callers), make([][]time.Duration, callers)
	for i := range callers {
		group.Go(func() {
			for errs[i] == nil && taken.Add(1) <= int64(b.flags.jobs) && time.Since(e.began) < insertTime {
				lap := time.Now()
				_, errs[i] = b.client.Enqueue(ctx, benchInsert, payload)
				laps[i] = append(laps[i], time.Since(lap))
			}
		})
	}
	group.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return benchLine{}, "", errs[i] // the other callers have the same error
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

func (b *bench) bulk(ctx context.Context) (benchLine, string, error) {
	payloads := make([]json.RawMessage, b.flags.jobs)
	payload := benchPayload(time.Time{}, b.flags.payload)
	for i := range payloads {
		payloads[i] = payload
	}
	e := beginEffort()
	_, err := b.client.EnqueueMany(ctx, benchDrain, payloads)
	return e.line(b.flags.jobs), "one commit", err
}

// drain runs the jobs in this process and in others.
func (b *bench) drain(ctx context.Context) (_ benchLine, _ string, err error) {
	others, err := b.startChildren(ctx, b.flags.processes-1, benchDrain)
	defer func() { err = errors.Join(err, others.close(ctx)) }()
	if err != nil {
		return benchLine{}, "", err
	}
	e := beginEffort()
	if err := others.begin(); err != nil {
		return benchLine{}, "", err
	}
	own, err := drainBench(ctx, b.client, b.flags.concurrency, b.progress)
	if err = errors.Join(err, ctx.Err()); err != nil { // a runner that is stopped returns no error
		return benchLine{}, "", err
	}
	reports, err := others.reports()
	if err != nil {
		return benchLine{}, "", err
	}
	all := append(reports, own)
	line := e.lineAt(b.flags.jobs, lastEnd(all))
	line.Processes, line.Concurrency = b.flags.processes, b.flags.concurrency
	var ran int64
	least := int64(b.flags.jobs)
	for _, r := range all {
		ran += r.Ran
		least = min(least, r.Ran)
		line.Duplicates += r.Again
		line.CPUSeconds = rounded(line.CPUSeconds+r.CPU, 3)
		line.PeakRSS = max(line.PeakRSS, r.PeakRSS)
	}
	if b.flags.processes > 1 {
		line.LeastShare = rounded(float64(least)*float64(b.flags.processes)/float64(b.flags.jobs), 3)
	}
	if missing := int64(b.flags.jobs) - (ran - line.Duplicates); missing != 0 {
		return benchLine{}, "", fmt.Errorf("%d of %d jobs ran", ran-line.Duplicates, b.flags.jobs)
	}
	return line, "handlers that do nothing, recorded and claimed in batches", nil
}

// lastEnd returns when the last handler of any process returned.
func lastEnd(reports []benchReport) time.Time {
	var last int64
	for _, r := range reports {
		last = max(last, r.LastEnd)
	}
	return time.Unix(0, last)
}

// drainBench runs all jobs of the bench, together with the other processes.
func drainBench(ctx context.Context, client *jobs.Client, concurrency int, log *progress) (benchReport, error) {
	runner, err := jobs.NewRunner(client, jobs.Config{
		Queues: map[string]int{jobs.DefaultQueue: concurrency}, Logger: newLogger(log, "text", "warn"), Grace: -1,
	})
	if err != nil {
		return benchReport{}, err
	}
	var ran, again, last atomic.Int64
	jobs.Kind[json.RawMessage]{Name: benchDrain}.Handle(runner, func(_ context.Context, job jobs.Job, _ json.RawMessage) error {
		ran.Add(1)
		if job.Attempt > 1 { // a job was claimed more than once
			again.Add(1)
		}
		last.Store(time.Now().UnixNano())
		return nil
	})
	err = runner.Drain(ctx)
	return benchReport{Ran: ran.Load(), Again: again.Load(), LastEnd: last.Load(), PeakRSS: peakRSS()}, err
}
