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
	if err == nil || !strings.Contains(err.Error(), "handlers that did not return") {
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
