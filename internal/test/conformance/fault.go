package conformance

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// faultTests cover faults of the application, of the clock and of sheer size.
var faultTests = []test{
	{"PanicInTheError", testPanicInError},
	{"PanicInTheRetryDelay", testPanicInRetryDelay},
	{"LargeResults", testLargeResults},
	{"ClockSetForward", testClockForward},
	{"ClockSetForwardAtBoot", testClockForwardAtBoot},
	{"ClockSetBack", testClockBack},
	{"ClockAhead", testClockAhead},
	{"ClockAheadBesideAWorker", testClockAheadBesideAWorker},
	{"ClockAheadThenDead", testClockAheadThenDead},
}

// textless is an error whose nil pointer, returned as an error, is not nil.
type textless struct{ text string }

func (e *textless) Error() string { return e.text }

func testPanicInError(f *fixture) {
	job := f.one(func(context.Context, jobs.Job) error {
		var err *textless
		return err
	}, jobs.MaxAttempts(1))
	want(f, "status", job.Status, jobs.StatusFailed)
	if e := f.wantError(job.ID, jobs.CausePanic, "nil pointer"); !strings.Contains(e.Stack, "Error") {
		f.Errorf("the stack is %q", e.Stack)
	}
}

func testPanicInRetryDelay(f *fixture) {
	kind := again("k")
	kind.RetryDelay = func(jobs.Job, error) time.Duration { panic("no delay") }
	id := f.enqueue("k")
	f.drain(jobs.Config{}, onKind(kind, func(context.Context, jobs.Job) error { return errors.New("broken") }))
	want(f, "status", f.get(id).Status, jobs.StatusScheduled)
	f.wantError(id, jobs.CausePanic, "no delay")
}

// Together they are more than one transaction takes, and some more than one batch.
func testLargeResults(f *fixture) {
	const n = 24
	for range n {
		f.enqueue("k")
	}
	sizes := []int{10, 20 << 10, 600 << 10}
	var all sync.WaitGroup // so that they end together
	all.Add(n)
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: n}}, on("k", func(_ context.Context, job jobs.Job) error {
		all.Done()
		all.Wait()
		return job.SetResult(strings.Repeat(`"`, sizes[job.ID%3]/2))
	}))
	for id := int64(1); id <= n; id++ {
		job := f.get(id)
		want(f, "status", job.Status, jobs.StatusDone)
		want(f, "length of the result", len(job.Result), sizes[id%3]/2*2+2)
	}
}

// clocked is a store whose clock can be set.
type clocked struct {
	engine.Store
	ahead *atomic.Int64
}

func (c clocked) Now() time.Time { return c.Store.Now().Add(time.Duration(c.ahead.Load())) }

func (c clocked) NowWithin(context.Context) time.Time { return c.Now() }

// A step of the clock, or a machine that slept, must not make a worker take its own jobs for abandoned.
func testClockForward(f *fixture) {
	store := clocked{f.store, new(atomic.Int64)}
	client := jobs.New(engine.SealStore(store))
	id := f.enqueue("k")
	started, release := make(chan struct{}), make(chan struct{})
	f.startOn(client, jobs.Config{Lease: 3 * time.Second}, on("k", func(context.Context, jobs.Job) error {
		close(started) // a second start would panic
		<-release
		return nil
	}))
	receive(f, "the start", started)
	// Right after a renewal: the next check of the maintenance has none to make, and judges leases by then.
	f.eventually("the lease is renewed", func() bool {
		workers, err := inspect.New(client).Workers(f.ctx)
		f.must(err)
		return workers[0].Heartbeat.After(workers[0].StartedAt)
	})
	store.ahead.Store(int64(time.Hour))
	f.eventually("the worker has renewed its lease, or lost it", func() bool {
		workers, err := inspect.New(client).Workers(f.ctx)
		f.must(err)
		return len(f.errors(id)) > 0 || len(workers) == 1 && workers[0].Heartbeat.After(f.store.Now().Add(time.Minute))
	})
	close(release)
	job := f.ended(id)
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "attempt", job.Attempt, 1)
	want(f, "errors", len(f.errors(id)), 0)
}

// A worker that starts right after such a step must leave a live worker's jobs alone.
func testClockForwardAtBoot(f *fixture) {
	id := f.enqueue("k")
	started, release := make(chan struct{}), make(chan struct{})
	f.start(jobs.Config{}, on("k", func(context.Context, jobs.Job) error {
		close(started)
		<-release
		return nil
	}))
	receive(f, "the start", started)
	late := clocked{engine.StoreOf(f.elsewhere().Store()), new(atomic.Int64)}
	late.ahead.Store(int64(time.Hour))
	f.must(f.runner(jobs.New(engine.SealStore(late)), jobs.Config{Queues: map[string]int{"other": 1}}, on("k", nothing)).Drain(f.ctx))
	want(f, "errors", len(f.errors(id)), 0)
	close(release)
	want(f, "attempt", f.ended(id).Attempt, 1)
}

// A job that fell due by a wrong clock, which has been set back since, waits for its time like any other.
func testClockBack(f *fixture) {
	store := clocked{f.store, new(atomic.Int64)}
	client := jobs.New(engine.SealStore(store))
	id := f.enqueue("k", jobs.In(time.Hour))
	store.ahead.Store(int64(2 * time.Hour))
	f.must(f.runner(client, jobs.Config{Queues: map[string]int{"other": 1}}, on("k", nothing)).Drain(f.ctx))
	want(f, "status by the wrong clock", f.get(id).Status, jobs.StatusPending)
	store.ahead.Store(0)
	now := f.enqueue("k")
	f.startOn(client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, on("k", nothing))
	want(f, "status of a job that is due", f.ended(now).Status, jobs.StatusDone)
	job := f.get(id)
	want(f, "status before its time", job.Status, jobs.StatusPending)
	want(f, "attempt before its time", job.Attempt, 0)
	f.wantWhy(id, inspect.ReasonClock)
	store.ahead.Store(int64(2 * time.Hour))
	want(f, "status after its time", f.ended(id).Status, jobs.StatusDone)
}
