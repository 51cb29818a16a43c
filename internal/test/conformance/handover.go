package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// handoverTests cover jobs that are added as claimed, for an idle runner of the same client.
var handoverTests = []test{
	{"EqualsAClaim", testHandedIsClaimed},
	{"OneTransaction", testHandedInOneTransaction},
	{"NotToAPausedQueue", testNotHandedToPausedQueue},
	{"NotBeforeBetterJobs", testNotHandedBeforeBetter},
	{"NotBeforeItsTime", testNotHandedBeforeItsTime},
	{"NotBeyondTheSlots", testNotHandedBeyondSlots},
	{"FailedEnqueue", testFailedHandover},
	{"StuckEnqueue", testStuckHandover},
	{"UnknownOutcome", testHandoverOfUnknownOutcome},
	{"Stop", testHandoversAtStop},
	{"Drain", testHandoversInDrain},
	{"NotToAWorkerThatWasDeclaredDead", testNotHandedToDeadWorker},
}

// handing is a client with an idle runner, to which added jobs are handed over.
type handing struct {
	f      *fixture
	client *jobs.Client
	seen   *seen
	ran    chan jobs.Job
	runner *running
}

// handing starts a runner with one slot, by a store that may be wrapped.
func (f *fixture) handing(wrap ...func(engine.Store) engine.Store) *handing {
	f.Helper()
	return f.handingOf([]string{"k"}, wrap...)
}

// handingOf is handing with a runner of some kinds.
func (f *fixture) handingOf(kinds []string, wrap ...func(engine.Store) engine.Store) *handing {
	f.Helper()
	h := &handing{f: f, ran: make(chan jobs.Job, 1000)}
	h.client, h.seen = f.observed()
	for _, w := range wrap {
		h.client = jobs.New(engine.SealStore(w(engine.StoreOf(h.client.Store()))))
	}
	var handlers []handle
	for _, kind := range kinds {
		handlers = append(handlers, on(kind, func(_ context.Context, job jobs.Job) error {
			h.ran <- job
			return nil
		}))
	}
	h.runner = f.startOn(h.client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, handlers...)
	return h
}

// add enqueues a job, and reports whether it was handed over, or should have been.
func (h *handing) add(kind string, opts ...jobs.EnqueueOption) (receipt jobs.Receipt, handed bool, err error) {
	before := len(h.seen.asked())
	receipt, err = h.client.Enqueue(marked(h.f.ctx), kind, json.RawMessage(`{"n": 1}`), opts...)
	return receipt, slices.Contains(h.seen.asked()[before:], "EnqueueClaimedJob"), err
}

// decline adds a job that the runner should decline, and reports whether it did.
func (h *handing) decline() (receipt jobs.Receipt, declined bool) {
	h.f.Helper()
	before := len(h.seen.asked())
	receipt, handed, err := h.add("k")
	h.f.must(err)
	return receipt, handed && slices.Contains(h.seen.asked()[before:], "EnqueueKeylessJob")
}

// hand adds jobs, each after the one before is done, until one was handed over, and returns it as its handler saw it.
// No signal says that the runner is idle.
func (h *handing) hand(opts ...jobs.EnqueueOption) jobs.Job {
	h.f.Helper()
	for {
		receipt, handed, err := h.add("k", opts...)
		h.f.must(err)
		job := receive(h.f, "the job", h.ran)
		want(h.f, "the job that runs", job.ID, receipt.ID)
		h.f.ended(receipt.ID)
		if handed {
			return job
		}
	}
}

func testHandedIsClaimed(f *fixture) {
	h := f.handing()
	job := h.hand(jobs.Priority(-3), jobs.MaxAttempts(4), jobs.Timeout(time.Minute), jobs.UserID("u"), jobs.Tags("a", "b"), jobs.Metadata(`"`))
	f.must(h.runner.stop())
	row := f.get(job.ID)
	want(f, "status", row.Status, jobs.StatusDone)
	want(f, "attempt", row.Attempt, 1)
	want(f, "payload", string(row.Payload), `{"n": 1}`)
	if row.CreatedAt.IsZero() || row.StartedAt.Before(row.CreatedAt) || row.FinishedAt.Before(row.StartedAt) {
		f.Errorf("times are %v, %v, %v", row.CreatedAt, row.StartedAt, row.FinishedAt)
	}
	// The handler saw its row, except for the changes of its end.
	row.Status, row.FinishedAt, row.UpdatedAt, row.LeaseUntil = job.Status, job.FinishedAt, job.UpdatedAt, job.LeaseUntil
	row.WorkerID, row.StartedAt = job.WorkerID, job.StartedAt
	if have, wanted := fmt.Sprintf("%+v", exported(job)), fmt.Sprintf("%+v", exported(row)); have != wanted {
		f.Errorf("the handler saw %s\nand not %s", have, wanted)
	}
}

// exported returns the public fields of a job.
func exported(job jobs.Job) map[string]any {
	fields := map[string]any{}
	v := reflect.ValueOf(job)
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.IsExported() {
			fields[field.Name] = v.Field(i).Interface()
		}
	}
	return fields
}

// One statement adds and claims the job, and the observer receives both events.
func testHandedInOneTransaction(f *fixture) {
	h := f.handing()
	h.hand()
	h.seen.told()
	h.seen.mu.Lock()
	before, turned := len(h.seen.queries), len(h.seen.turned)
	h.seen.mu.Unlock()
	h.hand()
	h.seen.told()
	h.seen.mu.Lock()
	defer h.seen.mu.Unlock()
	asked := h.seen.queries[before:]
	asked = asked[slices.Index(asked, "EnqueueClaimedJob"):]
	asked = asked[:slices.IndexFunc(asked, func(name string) bool { return strings.HasPrefix(name, "Complete") })] // that may claim others
	if slices.Contains(asked, "ClaimJobs") || slices.Contains(asked, "EnqueueKeylessJob") {
		f.Errorf("the statements were %q", asked)
	}
	if !slices.ContainsFunc(h.seen.turned[turned:], func(t jobs.Turned) bool { return t.Claimed == 1 && t.Recorded == 0 && t.Took > 0 }) {
		f.Errorf("the turns were %+v", h.seen.turned[turned:])
	}
}

func testNotHandedToPausedQueue(f *fixture) {
	h := f.handing()
	for tried := false; !tried; { // the runner may not be idle yet
		h.hand()
		_, err := f.client.PauseQueue(f.ctx, jobs.DefaultQueue)
		f.must(err)
		var receipt jobs.Receipt
		receipt, tried = h.decline()
		want(f, "status", f.get(receipt.ID).Status, jobs.StatusPending)
		_, err = f.client.ResumeQueue(f.ctx, jobs.DefaultQueue)
		f.must(err)
		want(f, "the job that runs", receive(f, "the job", h.ran).ID, receipt.ID)
	}
}

// A better job without a notification runs first.
func testNotHandedBeforeBetter(f *fixture) {
	h := f.handing()
	for tried := false; !tried; { // the runner may not be idle yet, or find the better job by chance
		h.hand()
		var better int64
		f.write(func(ctx context.Context, q db.Querier) (err error) {
			now := f.store.Now().UnixMicro()
			better, err = q.EnqueueKeylessJob(ctx, db.EnqueueKeylessJobParams{
				Kind: "k", Queue: jobs.DefaultQueue, Payload: "{}", Status: "pending", Priority: 1, RunAfter: now, MaxAttempts: 1, Now: now,
			})
			return err
		})
		var receipt jobs.Receipt
		receipt, tried = h.decline()
		want(f, "the first job", receive(f, "the first job", h.ran).ID, better)
		want(f, "the second job", receive(f, "the second job", h.ran).ID, receipt.ID)
	}
}

func testNotHandedBeforeItsTime(f *fixture) {
	h := f.handing()
	h.hand()
	receipt, handed, err := h.add("k", jobs.In(time.Hour))
	f.must(err)
	want(f, "it is handed over", handed, false)
	h.hand()
	want(f, "status", f.get(receipt.ID).Status, jobs.StatusScheduled)
}

func testNotHandedBeyondSlots(f *fixture) {
	const slots, callers, each = 2, 8, 25
	var running, most atomic.Int64
	var all sync.WaitGroup
	all.Add(callers * each)
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: slots}, Ahead: 5}, on("k", func(context.Context, jobs.Job) error {
		defer all.Done()
		n := running.Add(1)
		defer running.Add(-1)
		for {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				return nil
			}
		}
	}))
	var enqueues sync.WaitGroup
	for range callers {
		enqueues.Go(func() {
			for range each {
				if _, err := f.client.Enqueue(f.ctx, "k", json.RawMessage("{}")); err != nil {
					f.Error(err)
				}
			}
		})
	}
	enqueues.Wait()
	all.Wait() // each ran
	if m := most.Load(); m > slots {
		f.Errorf("%d ran at once in %d slots", m, slots)
	}
}

type mark struct{}

// marked marks the writes that fail in a failing store.
func marked(ctx context.Context) context.Context { return context.WithValue(ctx, mark{}, true) }

// failing is a store in which marked transactions fail: a number of them before their commit, or one after it, so that
// its outcome is unknown.
type failing struct {
	engine.Store
	before atomic.Int64
	after  atomic.Bool
	stuck  atomic.Bool // the next insert waits as long as it may
	waited atomic.Bool // the waiting insert had a claim
	err    error
}

func (s *failing) Insert(ctx context.Context, in engine.Insert) ([]int64, error) {
	if ctx.Value(mark{}) == nil {
		return s.Store.Insert(ctx, in)
	}
	if s.stuck.Swap(false) {
		s.waited.Store(in.Claim != nil)
		return nil, s.wait(ctx, in.Claim)
	}
	if s.before.Add(-1) >= 0 {
		return nil, s.Store.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
			q = db.Timed(q, in.Ran)
			if in.Claim != nil {
				_, err = q.EnqueueClaimedJob(ctx, in.Claimed())
			} else {
				_, err = q.EnqueueKeylessJob(ctx, in.Job)
			}
			return cmp.Or(err, s.err)
		})
	}
	ids, err := s.Store.Insert(ctx, in)
	if err == nil && s.after.Swap(false) {
		return nil, s.err
	}
	return ids, err
}

// wait waits for the end of ctx, with a claim as long as its patience at most.
func (s *failing) wait(ctx context.Context, claim *engine.Claim) error {
	if claim == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(claim.Patience):
		return engine.ErrDeclined
	}
}

// A job that was handed over by a failed transaction is not there, and the slot is free for the next. The enqueue runs
// once more without the handover.
func testFailedHandover(f *fixture) {
	store := &failing{err: errors.New("no")}
	h := f.handing(func(s engine.Store) engine.Store { store.Store = s; return store })
	for _, failures := range []int64{1, 2} {
		for handed := false; !handed; {
			h.hand()
			store.before.Store(failures)
			receipt, tried, err := h.add("k")
			store.before.Store(0)
			handed = tried
			want(f, "the enqueue failed", err != nil, !handed || failures == 2)
			if err == nil {
				want(f, "the job that runs", receive(f, "the job", h.ran).ID, receipt.ID)
			}
		}
		h.hand()
	}
	f.must(h.runner.stop())
	want(f, "other jobs that ran", len(h.ran), 0)
	stats, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	want(f, "running jobs", stats.Jobs[jobs.StatusRunning], 0)
}

// A job whose insert waits, for example for a lock, keeps the slot for a while, and is then inserted normally.
func testStuckHandover(f *fixture) {
	store := &failing{}
	h := f.handing(func(s engine.Store) engine.Store { store.Store = s; return store })
	h.hand()
	for handed := false; !handed; { // until the runner was idle: otherwise its enqueue fails as it should
		store.stuck.Store(true)
		ctx, cancel := context.WithTimeout(marked(f.ctx), 5*time.Second)
		receipt, err := h.client.Enqueue(ctx, "k", json.RawMessage("{}"))
		cancel()
		if handed = err == nil; handed {
			want(f, "the job that runs", receive(f, "the job", h.ran).ID, receipt.ID)
		}
	}
	want(f, "it waited", store.waited.Load(), true)
	h.hand()
	f.must(h.runner.stop())
}

// The caller does not learn whether the job exists; it does, and runs.
func testHandoverOfUnknownOutcome(f *fixture) {
	store := &failing{err: jobs.ErrUnknownOutcome}
	h := f.handing(func(s engine.Store) engine.Store { store.Store = s; return store })
	for handed := false; !handed; {
		h.hand()
		store.after.Store(true)
		var err error
		if _, handed, err = h.add("k", jobs.UserID("nobody knows")); !errors.Is(err, jobs.ErrUnknownOutcome) {
			f.Fatalf("the enqueue gives %v", err)
		}
		want(f, "the user of the job that runs", receive(f, "the job", h.ran).UserID, "nobody knows")
	}
	f.must(h.runner.stop())
}

// No job that was added while runners stop stays with one of them.
func testHandoversAtStop(f *fixture) {
	ctx, stop := context.WithCancel(f.ctx)
	defer stop()
	unrun := make(chan struct{}, 50) // so that they do not add more than can run
	var enqueues sync.WaitGroup
	for range 3 {
		enqueues.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case unrun <- struct{}{}:
				}
				if _, err := f.client.Enqueue(f.ctx, "k", json.RawMessage("{}")); err != nil {
					f.Error(err)
					return
				}
			}
		})
	}
	for range 20 {
		ran := make(chan struct{}, 1)
		r := f.start(jobs.Config{}, on("k", func(context.Context, jobs.Job) error {
			select {
			case ran <- struct{}{}:
			default:
			}
			<-unrun
			return nil
		}))
		receive(f, "a job", ran)
		f.must(r.stop())
		stats, err := inspect.New(f.client).Stats(f.ctx)
		f.must(err)
		want(f, "running jobs", stats.Jobs[jobs.StatusRunning], 0)
	}
	stop()
	enqueues.Wait()
	f.drain(jobs.Config{}, on("k", nothing))
	stats, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	want(f, "jobs that are not done", stats.Jobs[jobs.StatusRunning]+stats.Jobs[jobs.StatusPending]+stats.Jobs[jobs.StatusFailed], 0)
}

// A drain does not end before the jobs that its handlers have added.
func testHandoversInDrain(f *fixture) {
	const long = 30
	f.enqueue("k", jobs.Metadata(long))
	var ran atomic.Int64
	f.drain(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		ran.Add(1)
		var left int
		if err := json.Unmarshal(job.Metadata, &left); err != nil || left == 0 {
			return err
		}
		_, err := f.client.Enqueue(ctx, "k", json.RawMessage("{}"), jobs.Metadata(left-1))
		return err
	}))
	want(f, "jobs that ran", ran.Load(), int64(long+1))
}

// A worker that others have ended gets no job, and the job is not lost.
func testNotHandedToDeadWorker(f *fixture) {
	h := f.handing()
	for tried := false; !tried; { // the runner may not be idle yet, or know already
		dead := h.hand().WorkerID
		f.write(func(ctx context.Context, q db.Querier) error {
			workers, err := q.ListLiveWorkers(ctx)
			if err != nil {
				return err
			}
			for _, w := range workers {
				if _, err := q.EndWorker(ctx, db.EndWorkerParams{Now: f.store.Now().UnixMicro(), EndReason: "lost", ID: w.ID}); err != nil {
					return err
				}
			}
			return nil
		})
		var receipt jobs.Receipt
		receipt, tried = h.decline()
		job := receive(f, "the job", h.ran)
		want(f, "the job that runs", job.ID, receipt.ID)
		want(f, "attempt", job.Attempt, 1)
		if job.WorkerID == dead {
			f.Error("the dead worker has the job")
		}
	}
}
