package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// wantQueueFull checks that an enqueue is refused because of the depth of its queue.
func (f *fixture) wantQueueFull(err error, depth int) {
	f.Helper()
	full := (*jobs.FullError)(nil)
	if !errors.As(err, &full) || *full != (jobs.FullError{Queue: "q", Depth: depth}) {
		f.Errorf("an enqueue beyond the depth of the queue: %v", err)
	}
}

// An enqueue beyond the depth of its queue is refused, until a job has started. Other queues have none, and the jobs stay pending.
func testDepthOfQueue(f *fixture) {
	f.must(f.client.SetQueueLimit(f.ctx, "q", jobs.LimitValues{Depth: 3}))
	f.enqueue("k", jobs.Queue("q"), jobs.Priority(1))
	f.enqueue("other", jobs.Queue("q"))
	f.enqueue("k", jobs.Queue("q"), jobs.At(f.store.Now().Add(time.Hour)))
	_, err := f.client.Enqueue(f.ctx, "k", nil, jobs.Queue("q"), jobs.Priority(1))
	f.wantQueueFull(err, 3)
	f.enqueue("k")
	want(f, "pending jobs", f.statuses()[jobs.StatusPending], 3)
	f.drain(jobs.Config{Queues: map[string]int{"q": 1}}, on("k", nothing), on("other", nothing))
	for range 2 {
		f.enqueue("k", jobs.Queue("q"))
	}
	_, err = f.client.Enqueue(f.ctx, "k", nil, jobs.Queue("q"))
	f.wantQueueFull(err, 3)
	list, err := f.client.Limits(f.ctx)
	f.must(err)
	want(f, "the limit", list[0].LimitValues, jobs.LimitValues{Depth: 3, OnFull: jobs.OnFullRefuse})
	want(f, "its waiting jobs", list[0].WaitingJobs, 2)

	deleted, err := f.client.DeleteQueueLimit(f.ctx, "q")
	f.must(err)
	want(f, "deleted", deleted, true)
	f.enqueue("k", jobs.Queue("q"))
}

// Jobs with limit keys count for the depth of their queue too, in whatever status they wait, and their own depth holds beside it.
func testDepthOfQueueWithKeys(f *fixture) {
	kind := jobs.Kind[string]{Name: "k", Queue: "q", Limit: jobs.Limit[string]{Key: func(tenant string) string { return tenant }, Running: 1}}
	f.must(f.client.SetQueueLimit(f.ctx, "q", jobs.LimitValues{Depth: 4}))
	f.setDepth(jobs.LimitValues{Running: 1, Depth: 2})
	f.addTenants(kind, []string{"t", "t"})
	_, err := kind.Enqueue(f.ctx, f.client, "t")
	f.wantFull(err, "t", 2)
	f.addTenants(kind, []string{"other", "third"})
	_, err = kind.Enqueue(f.ctx, f.client, "fourth")
	f.wantQueueFull(err, 4)

	started, release := make(chan string, 4), make(chan struct{})
	f.start(jobs.Config{Queues: map[string]int{"q": 4}}, onTenants(kind, func(_ context.Context, _ jobs.Job, tenant string) error {
		started <- tenant
		<-release
		return nil
	}))
	for range 3 { // one job of t waits for the other
		receive(f, "a start", started)
	}
	receipts, err := kind.EnqueueMany(f.ctx, f.client, []string{"t", "fourth"})
	f.must(err)
	want(f, "receipts", len(receipts), 2)
	close(release)
	receive(f, "the start of the second job of t", started)
}

// The depth of a queue holds for enqueues of many jobs, of items, in transactions, and by a client that knows all about the job.
func testDepthOfQueueInManyWays(f *fixture) {
	f.must(f.client.SetQueueLimit(f.ctx, "q", jobs.LimitValues{Depth: 2}))
	kind := jobs.Kind[string]{Name: "k", Queue: "q"}
	_, err := kind.EnqueueMany(f.ctx, f.client, []string{"a", "b", "c"})
	f.wantQueueFull(err, 2)
	want(f, "jobs", len(f.statuses()), 0)
	f.must(f.inTx(func(tx Tx) error {
		client := f.client.With(tx)
		_, err := kind.EnqueueMany(f.ctx, client, []string{"a", "b"})
		f.must(err)
		_, err = kind.Enqueue(f.ctx, client, "c")
		f.wantQueueFull(err, 2)
		return nil
	}))
	settled := jobs.NewItem("k", nil, jobs.Queue("q"), jobs.Priority(1))
	_, err = f.client.EnqueueItems(f.ctx, []jobs.Item{settled})
	f.wantQueueFull(err, 2)

	f.must(f.client.SetQueueLimit(f.ctx, "q", jobs.LimitValues{Depth: 3, OnFull: jobs.OnFullDrop}))
	receipts, err := f.client.EnqueueItems(f.ctx, []jobs.Item{settled, jobs.NewItem("k", nil), settled})
	f.must(err)
	for i, dropped := range []bool{false, false, true} {
		want(f, "an item is dropped", receipts[i].Dropped, dropped)
	}
	receipt, err := kind.Enqueue(f.ctx, f.client, "d")
	f.must(err)
	want(f, "the receipt beyond the depth", receipt, jobs.Receipt{Dropped: true})
}
