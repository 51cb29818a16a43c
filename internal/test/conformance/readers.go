package conformance

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// readersTests cover reads of people and programs beside a runner of the same store.
var readersTests = []test{
	{"HoldUpNoRunner", testReadersHoldUpNoRunner},
	{"StatementsOfManyWaiters", testStatementsOfManyWaiters},
	{"StatementsOfALoneWaiter", testStatementsOfALoneWaiter},
	{"WaitersThatJoinAndLeave", testWaitersJoinAndLeave},
	{"SearchesAreBounded", testSearchesAreBounded},
}

// A runner registers, rescues, claims, renews its lease and records ends while no inspection of its store gets a connection.
func testReadersHoldUpNoRunner(f *fixture) {
	there := f.elsewhere()
	id := f.enqueue("k")
	g := f.ghost("doomed", time.Hour)
	want(f, "claimed", len(g.claim(1, time.Hour)), 1)
	release, err := f.store.HoldInspections(f.ctx)
	f.must(err)
	read := make(chan error, 1)
	go func() {
		_, err := f.client.Get(f.ctx, id)
		read <- err
	}()
	started, end := make(chan int), make(chan struct{})
	f.start(jobs.Config{Lease: time.Second}, on("k", func(_ context.Context, job jobs.Job) error {
		started <- job.Attempt
		<-end
		return nil
	}))
	g.die()
	want(f, "attempt after the crash", receive(f, "the start", started), 2)
	f.eventually("the lease is renewed", func() bool {
		workers, err := inspect.New(there).Workers(f.ctx)
		f.must(err)
		return len(workers) == 1 && workers[0].Heartbeat.After(workers[0].StartedAt)
	})
	close(end)
	job, err := there.Wait(f.ctx, id)
	f.must(err)
	want(f, "status", job.Status, jobs.StatusDone)
	select {
	case err := <-read:
		f.Errorf("a read went on while all connections for inspection were held: %v", err)
	default:
	}
	release()
	f.must(receive(f, "the read's end", read))
}

// A job that ends costs a bounded number of statements however many calls wait for others, and each call returns at its end.
func testStatementsOfManyWaiters(f *fixture) {
	const waiters, ends = 500, 20
	var gets atomic.Int64
	store := f.open(f.T, &jobs.Observer{Queried: func(name string, _ time.Duration, _ error) {
		if name == "GetJob" {
			gets.Add(1)
		}
	}})
	ids := f.addMany("waited", waiters, jobs.In(time.Hour))
	waited := make(chan error, waiters)
	for _, id := range ids {
		go func() {
			job, err := jobs.New(store).Wait(f.ctx, id)
			if err == nil && (job.ID != id || job.Status != jobs.StatusCancelled) {
				err = errors.New("a waiter got another job, or one that has not ended")
			}
			waited <- err
		}()
	}
	f.eventually("all wait", func() bool { return gets.Load() >= waiters })
	before := gets.Load()
	f.startOn(jobs.New(store), jobs.Config{}, on("k", nothing))
	for range ends {
		f.ended(f.enqueue("k"))
	}
	if n := gets.Load() - before; n > 10*ends {
		f.Errorf("while %d jobs ended, %d waiters for others read their jobs %d times", ends, waiters, n)
	}
	for _, id := range ids {
		_, err := f.client.Cancel(f.ctx, id)
		f.must(err)
	}
	for range ids {
		f.must(receive(f, "the end of a wait", waited))
	}
}

// A single waiter reads its job, with its kind's declaration, at the start and at the end. Other jobs that end, and the looks between,
// cost it one cheap statement each.
func testStatementsOfALoneWaiter(f *fixture) {
	var mu sync.Mutex
	names := map[string]int{}
	store := f.open(f.T, &jobs.Observer{Queried: func(name string, _ time.Duration, _ error) {
		mu.Lock()
		defer mu.Unlock()
		names[name]++
	}})
	f.start(jobs.Config{}, on("k", nothing)) // of another store
	id := f.addMany("waited", 1, jobs.In(time.Hour))[0]
	waited := make(chan error, 1)
	go func() {
		job, err := jobs.New(store).Wait(f.ctx, id)
		want(f, "status", job.Status, jobs.StatusCancelled)
		waited <- err
	}()
	f.eventually("it waits", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return names["GetJob"] > 0
	})
	for range 20 {
		f.ended(f.enqueue("k"))
	}
	_, err := f.client.Cancel(f.ctx, id)
	f.must(err)
	f.must(receive(f, "the end of the wait", waited))
	f.must(store.Observer().Flush(f.ctx))
	mu.Lock()
	defer mu.Unlock()
	for name := range names {
		if name != "GetJob" && name != "GetKindSettings" && name != "ListSensitiveFields" && name != "ListEndedAmong" {
			f.Errorf("the waiter asks for %s", name)
		}
	}
	if n := max(names["GetJob"], names["GetKindSettings"]); n > 2 {
		f.Errorf("the waiter reads its job %d times", n)
	}
}

// Waiters that start and stop, with others or alone, miss no end.
func testWaitersJoinAndLeave(f *fixture) {
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 4}}, on("k", nothing))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 25 {
				added, err := f.client.Enqueue(f.ctx, "k", []byte("1"))
				if err != nil {
					f.Error(err)
					return
				}
				gone, leave := context.WithCancel(f.ctx)
				leave()
				_, _ = f.client.Wait(gone, added.ID) // which may find that the job has ended
				if job, err := f.client.Wait(f.ctx, added.ID); err != nil || job.Status != jobs.StatusDone {
					f.Errorf("the wait gives %s, %v", job.Status, err)
				}
			}
		})
	}
	all.Wait()
}

// Of many concurrent searches one runs at a time, whichever client starts it. A statement that looks into jobs reads at
// most 1 MiB of them, unless one job is larger.
func testSearchesAreBounded(f *fixture) {
	const size, searches = 300 << 10, 3
	payload := []byte(`"` + strings.Repeat("x", size-2) + `"`)
	for range 5 {
		_, err := f.client.Enqueue(f.ctx, "k", payload)
		f.must(err)
	}
	store := &searched{Store: f.store, size: size}
	sealed := engine.SealStore(store) // as one store for all clients
	for name, filter := range map[string]inspect.Filter{"text": {Text: "y"}, "found": {Text: "x"}, "queue": {Queue: "other"}, "none": {}} {
		var all sync.WaitGroup
		for range searches {
			all.Go(func() {
				if _, err := inspect.New(jobs.New(sealed)).List(f.ctx, filter); err != nil {
					f.Error(err)
				}
			})
		}
		all.Wait()
		if most := store.most.Swap(0); most > 1<<20 {
			f.Errorf("by %s: a statement looks into %d bytes", name, most)
		}
		want(f, "searches at once by "+name, store.together.Swap(0), 1)
	}
}

// searched counts concurrent searches, and the jobs and bytes that their statements read.
type searched struct {
	engine.Store
	size                int64
	now, together, most atomic.Int64
}

func (s *searched) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	atLeast(&s.together, s.now.Add(1))
	defer s.now.Add(-1)
	return s.Store.Inspect(ctx, func(ctx context.Context, q db.Querier) error { return fn(ctx, searchedQuerier{q, s}) })
}

func atLeast(most *atomic.Int64, n int64) {
	for {
		old := most.Load()
		if n <= old || most.CompareAndSwap(old, n) {
			return
		}
	}
}

type searchedQuerier struct {
	db.Querier
	store *searched
}

func (q searchedQuerier) FindJobs(ctx context.Context, params db.FindJobsParams) ([]db.FindJobsRow, error) {
	if params != (db.FindJobsParams{Ids: params.Ids, N: params.N}) { // other statements read the sizes alone
		q.looksInto(params.Ids)
	}
	return q.Querier.FindJobs(ctx, params)
}

func (q searchedQuerier) ListJobs(ctx context.Context, ids string) ([]db.Job, error) {
	q.looksInto(ids)
	return q.Querier.ListJobs(ctx, ids)
}

func (q searchedQuerier) looksInto(ids string) {
	atLeast(&q.store.most, q.store.size*int64(strings.Count(ids, ",")+1))
}
