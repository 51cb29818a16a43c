package conformance

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/sqluice/sqluice/jobs"
)

var depthTests = []test{
	{"Refused", testDepthRefused},
	{"Dropped", testDepthDropped},
	{"InManyEnqueues", testDepthMany},
	{"ByName", testDepthByName},
	{"WithUniqueKeys", testDepthUnique},
	{"InATransaction", testDepthInTx},
	{"TwiceInOneCall", testDepthTwice},
	{"OfAClosedQueue", testDepthClosed},
	{"OfAQueue", testDepthOfQueue},
	{"OfAQueueWithKeys", testDepthOfQueueWithKeys},
	{"OfAQueueInManyWays", testDepthOfQueueInManyWays},
}

// wantFull checks that an enqueue is refused because of the depth of its key.
func (f *fixture) wantFull(err error, key string, depth int) {
	f.Helper()
	full := (*jobs.FullError)(nil)
	if !errors.As(err, &full) || *full != (jobs.FullError{Kind: "k", Key: key, Depth: depth}) {
		f.Errorf("an enqueue beyond the depth: %v", err)
	}
}

// waitingJobs returns the number of jobs that have not started.
func (f *fixture) waitingJobs() int64 {
	f.Helper()
	all := f.statuses()
	return all[jobs.StatusScheduled] + all[jobs.StatusWaiting]
}

// setDepth sets the depth of each key of the kind.
func (f *fixture) setDepth(v jobs.LimitValues) {
	f.Helper()
	f.must(f.client.SetLimit(f.ctx, "k", "", v))
}

// An enqueue beyond the depth of its key is refused, until a job has started. Other keys have their own.
func testDepthRefused(f *fixture) {
	kind := tenants(jobs.Limit[string]{})
	f.setDepth(jobs.LimitValues{Depth: 2})
	f.addTenants(kind, []string{"t", "t"})
	_, err := kind.Enqueue(f.ctx, f.client, "t")
	f.wantFull(err, "t", 2)
	f.addTenants(kind, []string{"other"})
	f.drain(jobs.Config{}, onTenants(kind, func(context.Context, jobs.Job, string) error { return nil }))
	f.addTenants(kind, []string{"t", "t"})
	_, err = kind.Enqueue(f.ctx, f.client, "t")
	f.wantFull(err, "t", 2)
	f.must(f.client.SetLimit(f.ctx, "k", "t", jobs.LimitValues{Depth: 3}))
	f.addTenants(kind, []string{"t"})
	_, err = kind.Enqueue(f.ctx, f.client, "t")
	f.wantFull(err, "t", 3)
}

// Where the limit says so, an enqueue beyond the depth adds no job and says so.
func testDepthDropped(f *fixture) {
	kind := tenants(jobs.Limit[string]{})
	f.setDepth(jobs.LimitValues{Depth: 1, OnFull: jobs.OnFullDrop})
	f.addTenants(kind, []string{"t"})
	receipt, err := kind.Enqueue(f.ctx, f.client, "t")
	f.must(err)
	want(f, "the receipt beyond the depth", receipt, jobs.Receipt{Dropped: true})
	want(f, "jobs", f.waitingJobs(), 1)
	list, err := f.client.Limits(f.ctx)
	f.must(err)
	want(f, "the limit", list[0].LimitValues, jobs.LimitValues{Depth: 1, OnFull: jobs.OnFullDrop})
}

// Many enqueues at once are refused together, or the last ones of a key are dropped.
func testDepthMany(f *fixture) {
	kind := tenants(jobs.Limit[string]{})
	f.setDepth(jobs.LimitValues{Depth: 2})
	_, err := kind.EnqueueMany(f.ctx, f.client, []string{"t", "other", "t", "t"})
	f.wantFull(err, "t", 2)
	want(f, "jobs", f.waitingJobs(), 0)
	f.setDepth(jobs.LimitValues{Depth: 2, OnFull: jobs.OnFullDrop})
	receipts, err := kind.EnqueueMany(f.ctx, f.client, []string{"t", "other", "t", "t"})
	f.must(err)
	for i, dropped := range []bool{false, false, false, true} {
		want(f, "a job is dropped", receipts[i].Dropped, dropped)
		want(f, "it has an id", receipts[i].ID != 0, !dropped)
	}
	var items []jobs.Item
	for range 2 {
		items = append(items, jobs.NewItem("k", json.RawMessage(`"other"`), jobs.LimitKey("other")))
	}
	receipts, err = f.client.EnqueueItems(f.ctx, append(items, jobs.NewItem("free", nil)))
	f.must(err)
	for i, dropped := range []bool{false, true, false} {
		want(f, "an item is dropped", receipts[i].Dropped, dropped)
	}
	want(f, "jobs", f.waitingJobs(), 4)
}

// An enqueue by the kind's name without a key counts for the empty one.
func testDepthByName(f *fixture) {
	f.setDepth(jobs.LimitValues{Depth: 1})
	f.enqueue("k")
	_, err := f.client.Enqueue(f.ctx, "k", nil)
	f.wantFull(err, "", 1)
	for name, v := range map[string]jobs.LimitValues{
		"too deep":          {Depth: 1_000_000_001},
		"another word":      {Depth: 1, OnFull: "wait"},
		"on-full, no depth": {Running: 1, OnFull: jobs.OnFullDrop},
	} {
		if err := f.client.SetLimit(f.ctx, "k", "", v); !errors.As(err, new(*jobs.InvalidError)) {
			f.Errorf("%s: %v", name, err)
		}
	}
	if err := f.client.SetTotalLimit(f.ctx, "k", jobs.LimitValues{Depth: 1}); !errors.As(err, new(*jobs.InvalidError)) {
		f.Errorf("the depth of a whole kind: %v", err)
	}
}

// An enqueue that finds its job is neither refused nor dropped.
func testDepthUnique(f *fixture) {
	kind := tenants(jobs.Limit[string]{})
	f.setDepth(jobs.LimitValues{Depth: 2})
	first, err := kind.Enqueue(f.ctx, f.client, "t", jobs.Unique("u"))
	f.must(err)
	second, err := kind.Enqueue(f.ctx, f.client, "t", jobs.RequestID("r"))
	f.must(err)
	again, err := kind.Enqueue(f.ctx, f.client, "t", jobs.Unique("u"))
	f.must(err)
	want(f, "the receipt of a unique key", again, jobs.Receipt{ID: first.ID, Existed: true})
	again, err = kind.Enqueue(f.ctx, f.client, "t", jobs.RequestID("r"))
	f.must(err)
	want(f, "the receipt of a request id", again, jobs.Receipt{ID: second.ID, Existed: true})
	_, err = kind.Enqueue(f.ctx, f.client, "t", jobs.Unique("another"))
	f.wantFull(err, "t", 2)
}

// Of two items of one call with one name the second finds the first, and takes no place.
func testDepthTwice(f *fixture) {
	f.setDepth(jobs.LimitValues{Depth: 2})
	unique := jobs.NewItem("k", nil, jobs.LimitKey("t"), jobs.Unique("u"))
	request := jobs.NewItem("k", nil, jobs.LimitKey("t"), jobs.RequestID("r"))
	receipts, err := f.client.EnqueueItems(f.ctx, []jobs.Item{unique, unique, request, request})
	f.must(err)
	for i, existed := range []bool{false, true, false, true} {
		want(f, "an item existed", receipts[i].Existed, existed)
	}
	want(f, "jobs", f.waitingJobs(), 2)
}

// In a database that is closed by a move an enqueue beyond the depth is refused as any other.
func testDepthClosed(f *fixture) {
	f.setDepth(jobs.LimitValues{Depth: 1, OnFull: jobs.OnFullDrop})
	f.must(f.client.SetQueueLimit(f.ctx, "q", jobs.LimitValues{Depth: 1}))
	f.enqueue("k")
	f.enqueue("other", jobs.Queue("q"))
	f.closeQueue()
	_, err := f.client.Enqueue(f.ctx, "k", nil)
	f.wantMoved("an enqueue beyond the depth of a key", err)
	_, err = f.client.Enqueue(f.ctx, "other", nil, jobs.Queue("q"))
	f.wantMoved("an enqueue beyond the depth of a queue", err)
}

// A refused enqueue leaves the caller's transaction as it is, and its own jobs count.
func testDepthInTx(f *fixture) {
	kind := tenants(jobs.Limit[string]{})
	f.setDepth(jobs.LimitValues{Depth: 2})
	f.must(f.inTx(func(tx Tx) error {
		client := f.client.With(tx)
		for range 2 {
			_, err := kind.Enqueue(f.ctx, client, "t")
			f.must(err)
		}
		_, err := kind.Enqueue(f.ctx, client, "t")
		f.wantFull(err, "t", 2)
		return nil
	}))
	want(f, "jobs", f.waitingJobs(), 2)
}
