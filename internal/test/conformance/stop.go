package conformance

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var stopTests = []test{
	{"Drains", testStopDrains},
	{"ReleasesWithoutCostingAnAttempt", testStopReleases},
	{"VerdictsCountWhileStopping", testStopVerdict},
	{"HandlerThatDoesNotReturn", testStopStuck},
	{"ClaimsNothingMore", testStopClaimsNothing},
	{"CancelRequestedThenReleased", testStopCancelled},
	{"WhileTheDatabaseIsLocked", testStopLocked},
	{"WhileTheDatabaseIsLockedAndHandlersRun", testStopLockedUnfinished},
}

// blocked starts a runner with one job whose handler waits for release or, when it heeds it, the end of its context.
func (f *fixture) blocked(config jobs.Config, release chan struct{}, heed bool) (*running, int64) {
	f.Helper()
	id := f.enqueue("k", jobs.MaxAttempts(1))
	started := make(chan struct{}, 1)
	r := f.start(config, on("k", func(ctx context.Context, _ jobs.Job) error {
		started <- struct{}{}
		var over <-chan struct{}
		if heed {
			over = ctx.Done()
		}
		select {
		case <-release:
			return nil
		case <-over:
			return context.Cause(ctx)
		}
	}))
	receive(f, "the start", started)
	return r, id
}

func testStopDrains(f *fixture) {
	release := make(chan struct{})
	r, id := f.blocked(jobs.Config{Grace: hang}, release, true)
	r.cancel()
	close(release)
	f.must(receive(f, "the runner's end", r.done))
	job := f.get(id)
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "attempt", job.Attempt, 1)
}

func testStopReleases(f *fixture) {
	r, id := f.blocked(jobs.Config{Grace: -1}, nil, true)
	f.must(r.stop())
	job := f.get(id)
	want(f, "status", job.Status, jobs.StatusPending)
	want(f, "attempt", job.Attempt, 1)
	want(f, "uncounted", job.Uncounted, 1)
	want(f, "worker", job.WorkerID, 0)
	want(f, "errors", len(f.errors(id)), 0)
	f.drain(jobs.Config{}, on("k", nothing))
	job = f.get(id)
	want(f, "status after the next run", job.Status, jobs.StatusDone)
	want(f, "attempt after the next run", job.Attempt, 2)
}

func testStopVerdict(f *fixture) {
	id := f.enqueue("k")
	started := make(chan struct{})
	r := f.start(jobs.Config{Grace: -1}, on("k", func(ctx context.Context, _ jobs.Job) error {
		close(started)
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), jobs.ErrStopping) {
			f.Errorf("the cause is %v", context.Cause(ctx))
		}
		return jobs.Discard(errors.New("hopeless anyway"))
	}))
	receive(f, "the start", started)
	f.must(r.stop())
	want(f, "status", f.get(id).Status, jobs.StatusFailed)
}

func testStopStuck(f *fixture) {
	release := make(chan struct{})
	defer close(release)
	r, id := f.blocked(jobs.Config{Grace: -1, StuckAfter: 50 * time.Millisecond}, release, false)
	err := r.stop()
	if err == nil || !strings.Contains(err.Error(), "handlers did not return") {
		f.Errorf("Run gives %v", err)
	}
	job := f.get(id)
	want(f, "status", job.Status, jobs.StatusPending)
	want(f, "uncounted", job.Uncounted, 1)
	workers, err := inspect.New(f.client).Workers(f.ctx)
	f.must(err)
	want(f, "workers after the stop", len(workers), 0)
}

func testStopClaimsNothing(f *fixture) {
	release := make(chan struct{})
	r, id := f.blocked(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}, Grace: hang}, release, true)
	waiting := f.enqueue("k")
	r.cancel()
	close(release)
	f.must(receive(f, "the runner's end", r.done))
	want(f, "status of the job that ran", f.get(id).Status, jobs.StatusDone)
	want(f, "attempt of the job that waited", f.get(waiting).Attempt, 0)
}

// testStopCancelled: a job with a cancel request does not come back because its worker stops.
func testStopCancelled(f *fixture) {
	id := f.enqueue("k")
	started := make(chan struct{})
	r := f.start(jobs.Config{Grace: -1}, on("k", func(ctx context.Context, job jobs.Job) error {
		close(started)
		<-ctx.Done()
		if _, err := f.client.Cancel(f.ctx, job.ID); err != nil {
			f.Error(err)
		}
		return ctx.Err()
	}))
	receive(f, "the start", started)
	f.must(r.stop())
	want(f, "status", f.get(id).Status, jobs.StatusCancelled)
}

// stopWithin is the longest time for a stop with short times on a slow machine. It took minutes when each end waited by itself.
const stopWithin = 10 * time.Second

// stopLocked starts a runner with jobs of one attempt, keeps another transaction from being ended while their handlers end, or not,
// and stops the runner. It returns the jobs after another runner has run them.
func (f *fixture) stopLocked(end bool) []jobs.Job {
	const n = 10
	f.Helper()
	ids := f.many(n, jobs.MaxAttempts(1))
	started, release := make(chan struct{}, n), make(chan struct{})
	r := f.start(jobs.Config{Grace: 100 * time.Millisecond, StopTimeout: time.Second}, on("k", func(ctx context.Context, _ jobs.Job) error {
		started <- struct{}{}
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}))
	for range n {
		receive(f, "a start", started)
	}
	tx, err := f.store.Begin(f.ctx) // which holds SQLite's write lock
	f.must(err)
	for _, id := range ids {
		_, err := f.client.With(tx).Cancel(f.ctx, id) // which locks the row on PostgreSQL
		f.must(err)
	}
	if end {
		close(release)
	}
	began := time.Now()
	err = r.stop()
	if took := time.Since(began); took > stopWithin {
		f.Errorf("the stop took %s", took)
	}
	if err == nil || !strings.Contains(err.Error(), "could not be recorded") {
		f.Errorf("Run gives %v", err)
	}
	f.must(tx.Rollback())
	other := jobs.Config{Name: "other"}
	next := f.startOn(f.elsewhere(), other, on("k", nothing))
	var list []jobs.Job
	for _, id := range ids {
		list = append(list, f.ended(id))
	}
	f.must(next.stop())
	return list
}

// wantReleased checks that jobs were released by a worker that had stopped, at no cost, and have then run again.
func (f *fixture) wantReleased(list []jobs.Job) {
	f.Helper()
	for _, job := range list {
		want(f, "status", job.Status, jobs.StatusDone)
		want(f, "attempt", job.Attempt, 2)
		want(f, "uncounted", job.Uncounted, 1)
		want(f, "crashes", job.Crashes, 0)
		want(f, "errors", len(f.errors(job.ID)), 0)
	}
}

func testStopLocked(f *fixture) { f.wantReleased(f.stopLocked(true)) }

func testStopLockedUnfinished(f *fixture) { f.wantReleased(f.stopLocked(false)) }
