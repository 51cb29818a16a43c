package conformance

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Limits of whole kinds and queues that programs declare.
var declaredLimitTests = []test{
	{"ATotal", testDeclaredTotal},
	{"AQueue", testDeclaredQueue},
	{"ABacklogOfAQueue", testDeclaredDepth},
	{"TheLiveWorkersDecide", testDeclaredTotalOfLiveWorkers},
	{"ASetOneCountsBefore", testDeclaredAndSet},
}

// totalled returns the kind with a total.
func totalled(running int) jobs.Kind[string] {
	return tenants(jobs.Limit[string]{Total: jobs.LimitValues{Running: running}})
}

// declaresTotal starts a process that declares the total of the kind; 0: that it has none.
func (f *fixture) declaresTotal(running int) *running {
	f.Helper()
	return f.startOn(f.elsewhere(), jobs.Config{}, onTenants(totalled(running), func(context.Context, jobs.Job, string) error { return nil }))
}

// eventuallyLimits waits until the limits in force are as the text says.
func (f *fixture) eventuallyLimits(text string) {
	f.Helper()
	f.eventually("the limits are "+text, func() bool {
		list, err := f.client.Limits(f.ctx)
		f.must(err)
		var found []string
		for _, l := range list {
			found = append(found, fmt.Sprintf("%s%s %d %v %v", l.Kind, l.Queue, l.Running, l.Total, l.Declared))
		}
		return fmt.Sprint(found) == text
	})
}

// All jobs of a kind share the total that it declares, those with a key and those of a plain enqueue without one.
func testDeclaredTotal(f *fixture) {
	kind, starts := totalled(2), newStarts()
	kind.Limit.Key = func(tenant string) string { return tenant }
	var list []string
	for i := range 30 {
		list = append(list, fmt.Sprint("t", i%6))
	}
	ids := f.addTenants(kind, list)
	ids = append(ids, f.addTenants(plainKind("k"), list)...)
	run := onTenants(kind, func(context.Context, jobs.Job, string) error {
		defer starts.begin("all")()
		return nil
	})
	config := jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 4}}
	f.start(config, run)
	f.startOn(f.elsewhere(), config, run)
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	f.eventuallyLimits("[k 2 true true]")
	starts.mu.Lock()
	defer starts.mu.Unlock()
	if starts.most["all"] > 2 {
		f.Errorf("%d jobs of the kind ran at once", starts.most["all"])
	}
}

// The jobs of all kinds of a queue share the limit that a runner declares. The zero value of a newer one ends it.
func testDeclaredQueue(f *fixture) {
	first, second, starts := plainKind("k"), plainKind("l"), newStarts()
	var ids []int64
	for _, kind := range []jobs.Kind[string]{first, second} {
		for range 20 {
			ids = append(ids, f.addTenants(kind, []string{"a"}, jobs.Queue("a"))...)
		}
	}
	run := func(r *jobs.Runner) {
		handler := func(context.Context, jobs.Job, string) error {
			defer starts.begin("all")()
			return nil
		}
		first.Handle(r, handler)
		second.Handle(r, handler)
	}
	config := jobs.Config{Queues: map[string]int{"a": 4}, QueueLimits: map[string]jobs.LimitValues{"a": {Running: 2}}}
	f.start(config, run)
	f.startOn(f.elsewhere(), config, run)
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	f.eventuallyLimits("[a 2 false true]")
	starts.mu.Lock()
	if starts.most["all"] > 2 {
		f.Errorf("%d jobs of the queue ran at once", starts.most["all"])
	}
	starts.mu.Unlock()
	config.QueueLimits = map[string]jobs.LimitValues{"a": {}}
	f.startOn(f.elsewhere(), config, run)
	f.eventuallyLimits("[]")
}

// A runner can declare the depth of a queue.
func testDeclaredDepth(f *fixture) {
	config := jobs.Config{Queues: map[string]int{"b": 1}, QueueLimits: map[string]jobs.LimitValues{"a": {Depth: 2, OnFull: jobs.OnFullDrop}}}
	f.start(config, on("k", nothing))
	f.eventuallyLimits("[a 0 false true]")
	f.addTenants(plainKind("k"), []string{"1", "2"}, jobs.Queue("a"))
	f.eventually("an enqueue beyond the depth is dropped", func() bool {
		receipt, err := plainKind("k").Enqueue(f.ctx, f.client, "3", jobs.Queue("a"))
		f.must(err)
		return receipt.Dropped
	})
}

// The total is that of the newest live worker, and the last one stays. Its changes are in the audit.
func testDeclaredTotalOfLiveWorkers(f *fixture) {
	older := f.declaresTotal(5)
	f.eventuallyLimits("[k 5 true true]")
	newer := f.declaresTotal(3)
	f.eventuallyLimits("[k 3 true true]")
	none := f.declaresTotal(0)
	f.eventuallyLimits("[]")
	f.must(none.stop())
	f.eventuallyLimits("[k 3 true true]")
	f.must(newer.stop())
	f.eventuallyLimits("[k 5 true true]")
	f.must(older.stop())
	f.eventuallyLimits("[k 5 true true]")
	entries, err := inspect.New(f.client).Audit(f.ctx, inspect.AuditFilter{Action: inspect.ActionSetLimit})
	f.must(err)
	want(f, "the entries of the audit", len(entries), 4)
}

// A limit that is set counts before the declared one, also before a newer one, which counts again when it is deleted.
func testDeclaredAndSet(f *fixture) {
	f.declaresTotal(5)
	f.eventuallyLimits("[k 5 true true]")
	f.must(f.client.SetTotalLimit(f.ctx, "k", jobs.LimitValues{Running: 1}))
	f.eventuallyLimits("[k 1 true false]")
	f.declaresTotal(3)
	f.live(2)
	f.eventuallyInForce("k", `{"total":{"running":3}}`)
	f.eventuallyLimits("[k 1 true false]")
	deleted, err := f.client.DeleteTotalLimit(f.ctx, "k")
	f.must(err)
	want(f, "a set limit was deleted", deleted, true)
	f.eventuallyLimits("[k 3 true true]")
	deleted, err = f.client.DeleteTotalLimit(f.ctx, "k")
	f.must(err)
	want(f, "a declared limit was deleted", deleted, false)
	f.eventuallyLimits("[k 3 true true]")
	f.sql("delete_limits") // a worker that comes restores what plain SQL has removed
	f.declaresTotal(3)
	f.eventuallyLimits("[k 3 true true]")
}

// eventuallyInForce waits until what is in force of a kind has a body.
func (f *fixture) eventuallyInForce(kind, body string) {
	f.Helper()
	f.eventually("what is in force is "+body, func() (found bool) {
		f.write(func(ctx context.Context, q db.Querier) error {
			row, err := q.GetDeclaration(ctx, db.GetDeclarationParams{Subject: "kind", Name: kind})
			found = row.Body == body
			return err
		})
		return found
	})
}
