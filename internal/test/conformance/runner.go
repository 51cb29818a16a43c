package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// handle is a kind and its handler, to be given to a runner.
type handle func(*jobs.Runner)

// on runs jobs of a kind by the handler. Those that fail are retried an hour later: a slow machine must not retry one within the test.
func on(kind string, handler func(ctx context.Context, job jobs.Job) error) handle {
	return onKind(jobs.Kind[json.RawMessage]{Name: kind, RetryDelay: jobs.FixedRetry(time.Hour)}, handler)
}

func onKind(kind jobs.Kind[json.RawMessage], handler func(ctx context.Context, job jobs.Job) error) handle {
	return func(r *jobs.Runner) {
		kind.Handle(r, func(ctx context.Context, job jobs.Job, _ json.RawMessage) error { return handler(ctx, job) })
	}
}

// again returns a kind whose failed attempts are retried at once.
func again(name string) jobs.Kind[json.RawMessage] {
	return jobs.Kind[json.RawMessage]{Name: name, RetryDelay: func(jobs.Job, error) time.Duration { return 0 }}
}

func nothing(context.Context, jobs.Job) error { return nil }

// running is a started runner.
type running struct {
	f      *fixture
	runner *jobs.Runner
	cancel context.CancelFunc
	done   chan error
}

func (f *fixture) runner(client *jobs.Client, config jobs.Config, handles ...handle) *jobs.Runner {
	f.Helper()
	if config.Logger == nil {
		config.Logger = quiet()
	}
	runner, err := jobs.NewRunner(client, config)
	f.must(err)
	for _, h := range handles {
		h(runner)
	}
	return runner
}

// start starts a runner; the end of the test stops it.
func (f *fixture) start(config jobs.Config, handles ...handle) *running {
	f.Helper()
	return f.startOn(f.client, config, handles...)
}

func (f *fixture) startOn(client *jobs.Client, config jobs.Config, handles ...handle) *running {
	f.Helper()
	return f.run(f.runner(client, config, handles...))
}

// run runs a runner; the end of the test stops it.
func (f *fixture) run(runner *jobs.Runner) *running {
	f.Helper()
	ctx, cancel := context.WithCancel(f.ctx)
	r := &running{f: f, runner: runner, cancel: cancel, done: make(chan error, 1)}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.done <- runner.Run(ctx)
	}()
	f.Cleanup(func() {
		cancel()
		<-stopped
	})
	return r
}

// stop stops the runner and waits for it.
func (r *running) stop() error {
	r.f.Helper()
	r.cancel()
	return receive(r.f, "the runner's end", r.done)
}

// drain runs a runner until its queues are empty.
func (f *fixture) drain(config jobs.Config, handles ...handle) {
	f.Helper()
	f.must(f.runner(f.client, config, handles...).Drain(f.ctx))
}

var runnerTests = []test{
	{"ConfigFaultsTogether", testConfigFaults},
	{"HandlePanics", testHandlePanics},
	{"RunsOnce", testRunsOnce},
	{"ConcurrencyPerQueue", testConcurrencyPerQueue},
	{"HandlersThatEndAndThatWait", testHandlersOfAllKinds},
	{"FreedSlotIsFilledWithoutAWake", testFreedSlotIsFilled},
	{"ForeignKindsStayPending", testForeignKindsStay},
	{"DrainWaitsForOthers", testDrainWaitsForOthers},
	{"DrainLeavesTheFuture", testDrainLeavesTheFuture},
	{"DrainThatIsStopped", testDrainThatIsStopped},
	{"StoreClosed", testStoreClosed},
}

// A drain whose context ends with jobs left says so.
func testDrainThatIsStopped(f *fixture) {
	ids := f.many(2)
	ctx, stop := context.WithCancel(f.ctx)
	defer stop()
	err := f.runner(f.client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, on("k", func(context.Context, jobs.Job) error {
		stop()
		return nil
	})).Drain(ctx)
	if !errors.Is(err, context.Canceled) {
		f.Errorf("the drain ended with %v", err)
	}
	want(f, "status of the job that is left", f.get(ids[1]).Status, jobs.StatusPending)
}

func testConfigFaults(f *fixture) {
	_, err := jobs.NewRunner(f.client, jobs.Config{
		Queues: map[string]int{"": 1, "q": 0}, Name: "a\nb", Lease: time.Millisecond, StuckAfter: -1, MaxCrashes: -1, Ahead: 1001,
		OnBoot: 7, Retention: jobs.Retention{Done: -2, Cancelled: -2, Failed: -2},
		QueueLimits: map[string]jobs.LimitValues{"x": {Running: -1}, "y": {Weight: 2}, "z\n": {}},
	})
	if err == nil {
		f.Fatal("no error")
	}
	for _, field := range []string{
		"queue", `queue "q"`, "worker name", "Lease 1ms", "StuckAfter", "MaxCrashes", "Ahead 1001", "OnBoot 7", "Retention.Done",
		"Retention.Cancelled", "Retention.Failed", `queue "x": running of the limit -1`, `queue "y": weight of the limit 2`, "queue of a limit",
	} {
		if !strings.Contains(err.Error(), field) {
			f.Errorf("%q is not named by: %v", field, err)
		}
	}
}

func testHandlePanics(f *fixture) {
	panics := func(what string, fn func()) {
		f.Helper()
		defer func() {
			if recover() == nil {
				f.Errorf("%s does not panic", what)
			}
		}()
		fn()
	}
	r := f.runner(f.client, jobs.Config{}, on("k", nothing))
	panics("a kind handled twice", func() { on("k", nothing)(r) })
	panics("a kind without a name", func() { on("", nothing)(r) })
	panics("a total with a depth", func() { onTenants(tenants(jobs.Limit[string]{Total: jobs.LimitValues{Depth: 1}}), nil)(r) })
	f.must(r.Drain(f.ctx))
	panics("Handle after Run", func() { on("l", nothing)(r) })
}

func testRunsOnce(f *fixture) {
	if err := f.runner(f.client, jobs.Config{}).Run(f.ctx); err == nil {
		f.Error("a runner without handlers runs")
	}
	r := f.runner(f.client, jobs.Config{}, on("k", nothing))
	f.must(r.Drain(f.ctx))
	if err := r.Run(f.ctx); err == nil {
		f.Error("a runner runs twice")
	}
}

func testConcurrencyPerQueue(f *fixture) {
	limits := map[string]int{"a": 1, "b": 3}
	for range 12 {
		f.enqueue("k", jobs.Queue("a"))
		f.enqueue("k", jobs.Queue("b"))
	}
	var mu sync.Mutex
	now, most := map[string]int{}, map[string]int{}
	// Three of b must run at once, or none of them ends.
	full := make(chan struct{})
	f.drain(jobs.Config{Queues: limits}, on("k", func(ctx context.Context, job jobs.Job) error {
		mu.Lock()
		now[job.Queue]++
		most[job.Queue] = max(most[job.Queue], now[job.Queue])
		if job.Queue == "b" && now["b"] == 3 && most["b"] == 3 {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		if job.Queue == "b" {
			select {
			case <-full:
			case <-ctx.Done():
			}
		}
		mu.Lock()
		defer mu.Unlock()
		now[job.Queue]--
		return nil
	}))
	for queue, limit := range limits {
		want(f, "most at once in queue "+queue, most[queue], limit)
	}
}

// testHandlersOfAllKinds: the handlers of all slots run at once, however others of the same worker end.
func testHandlersOfAllKinds(f *fixture) {
	const slots = 64
	f.addMany("waits", slots, jobs.Queue("waiting"))
	quick := f.addMany("ends", 6*slots, jobs.Queue("quick"), jobs.MaxAttempts(1))
	var waiting, ended atomic.Int64
	all := make(chan struct{})
	f.drain(jobs.Config{Queues: map[string]int{"waiting": slots, "quick": slots}},
		on("waits", func(ctx context.Context, _ jobs.Job) error {
			if waiting.Add(1) == slots {
				close(all)
			}
			select {
			case <-all:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}),
		on("ends", func(context.Context, jobs.Job) error {
			switch ended.Add(1) % 3 {
			case 0:
				runtime.Goexit()
			case 1:
				panic("a handler that panics")
			}
			return nil
		}))
	want(f, "handlers that waited for each other", waiting.Load(), slots)
	want(f, "handlers that ended at once", ended.Load(), int64(len(quick)))
	failed := 0
	for _, id := range quick {
		if f.get(id).Status == jobs.StatusFailed {
			failed++
		}
	}
	want(f, "jobs that failed", failed, 4*slots)
}

// poked is a store that wakes its listeners only on the test's command.
type poked struct {
	engine.Store
	wake chan struct{}
}

func (p poked) Listen(core.Signal, []string) (<-chan struct{}, func()) { return p.wake, func() {} }

func testFreedSlotIsFilled(f *fixture) {
	for range 2 {
		f.enqueue("k", jobs.Queue("busy"))
	}
	store := poked{Store: f.store, wake: make(chan struct{})}
	started, release := make(chan int64), make(chan struct{})
	f.startOn(jobs.New(engine.SealStore(store)), jobs.Config{Queues: map[string]int{"busy": 1, "idle": 1}},
		on("k", func(ctx context.Context, job jobs.Job) error {
			started <- job.ID
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil
		}))
	first := receive(f, "the first job", started)
	// The runner takes the second poke after the first: it has checked the idle queue by then.
	for range 2 {
		select {
		case store.wake <- struct{}{}:
		case <-f.ctx.Done():
			f.Fatal("the runner does not listen")
		}
	}
	close(release)
	if second := receive(f, "the second job: the freed slot was not filled", started); second == first {
		f.Errorf("job %d ran twice", first)
	}
}

func testForeignKindsStay(f *fixture) {
	foreign := f.enqueue("foreign", jobs.Priority(100))
	own := f.enqueue("own")
	f.drain(jobs.Config{}, on("own", nothing))
	want(f, "status of the own kind", f.get(own).Status, jobs.StatusDone)
	want(f, "status of the foreign kind", f.get(foreign).Status, jobs.StatusPending)
	want(f, "attempt of the foreign kind", f.get(foreign).Attempt, 0)
}

func testDrainWaitsForOthers(f *fixture) {
	started, release := make(chan struct{}), make(chan struct{})
	id := f.enqueue("k")
	f.startOn(f.elsewhere(), jobs.Config{}, on("k", func(context.Context, jobs.Job) error {
		close(started)
		<-release
		return nil
	}))
	receive(f, "the other worker's start", started)
	looked := make(chan struct{}, 1)
	drained := make(chan error, 1)
	runner := f.runner(jobs.New(engine.SealStore(counting{f.store, looked})), jobs.Config{}, on("k", nothing))
	go func() { drained <- runner.Drain(f.ctx) }()
	for range 5 {
		receive(f, "the drain's look at what others run", looked)
	}
	select {
	case err := <-drained:
		f.Errorf("the drain ended (%v) while another worker ran job %d", err, id)
	default:
	}
	close(release)
	f.must(receive(f, "the drain's end", drained))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
}

// counting reports each read, so that a test knows that a runner has checked.
type counting struct {
	engine.Store
	looked chan struct{}
}

func (c counting) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	err := c.Store.Read(ctx, fn)
	c.count()
	return err
}

func (c counting) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	err := c.Store.Inspect(ctx, fn)
	c.count()
	return err
}

func (c counting) count() {
	select {
	case c.looked <- struct{}{}:
	default: // the test counts no longer, or not yet
	}
}

func testDrainLeavesTheFuture(f *fixture) {
	later := f.enqueue("k", jobs.In(time.Hour))
	now := f.enqueue("k")
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "status of the due job", f.get(now).Status, jobs.StatusDone)
	want(f, "status of the job of the future", f.get(later).Status, jobs.StatusScheduled)
}

func testStoreClosed(f *fixture) {
	other := f.open(f.T)
	r := f.startOn(jobs.New(other), jobs.Config{}, on("k", nothing))
	f.ended(f.enqueue("k"))
	f.must(other.Close())
	f.enqueue("k")
	if _, err := jobs.New(other).Enqueue(f.ctx, "k", json.RawMessage("{}")); !errors.Is(err, jobs.ErrClosed) {
		f.Errorf("an enqueue on a closed store gives %v, not ErrClosed", err)
	}
	r.cancel()
	<-r.done // with an error or without: but it ends
}
