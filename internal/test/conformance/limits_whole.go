package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// The limits of a whole kind or queue, which also bound jobs without a limit key.
var wholeLimitTests = []test{
	{"ATotalOfAllKeys", testLimitTotal},
	{"ATotalRate", testLimitTotalRate},
	{"OfAQueue", testLimitQueue},
	{"SetForJobsWithoutAKey", testLimitKeyless},
	{"SetWhileJobsRun", testLimitSetWhileRunning},
	{"OfAnotherWorkersJobs", testLimitTotalElsewhere},
	{"Weights", testLimitWeights},
	{"DeclaredForEnqueuesByName", testLimitByName},
	{"AFullKindHoldsUpNoOther", testLimitFullKind},
	{"FullKeysHoldUpNoOther", testLimitFullKeys},
}

// plainKind is a kind without a limit in code.
func plainKind(name string) jobs.Kind[string] { return jobs.Kind[string]{Name: name} }

// All jobs of a kind share its total, whatever their keys are.
func testLimitTotal(f *fixture) {
	f.must(f.client.SetTotalLimit(f.ctx, "k", jobs.LimitValues{Running: 3}))
	kind, starts := tenants(jobs.Limit[string]{Running: 2}), newStarts()
	var list []string
	for i := range 60 {
		list = append(list, fmt.Sprint("t", i%6))
	}
	ids := f.addTenants(kind, list)
	run := onTenants(kind, func(_ context.Context, _ jobs.Job, tenant string) error {
		defer starts.begin(tenant)()
		defer starts.begin("all")()
		return nil
	})
	config := jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 4}}
	f.start(config, run)
	f.startOn(f.elsewhere(), config, run)
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	starts.mu.Lock()
	defer starts.mu.Unlock()
	if starts.most["all"] > 3 {
		f.Errorf("%d jobs of the kind ran at once", starts.most["all"])
	}
	for tenant, most := range starts.most {
		if tenant != "all" && most > 2 {
			f.Errorf("%d jobs of %s ran at once", most, tenant)
		}
	}
}

// The rate of a whole kind bounds the starts of all keys together.
func testLimitTotalRate(f *fixture) {
	const burst, per = 5, 4 * time.Millisecond
	f.must(f.client.SetTotalLimit(f.ctx, "k", jobs.LimitValues{Rate: jobs.Per(1, per), Burst: burst}))
	kind := tenants(jobs.Limit[string]{})
	var list []string
	for i := range 40 {
		list = append(list, fmt.Sprint("t", i%4))
	}
	ids := f.addTenants(kind, list)
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 20}}, onTenants(kind, func(context.Context, jobs.Job, string) error { return nil }))
	f.withinRate(ids, per, burst)
}

// withinRate checks the starts of jobs in each window between two of them.
func (f *fixture) withinRate(ids []int64, per time.Duration, burst int) {
	f.Helper()
	var times []time.Time
	for _, id := range ids {
		job := f.get(id)
		want(f, "status", job.Status, jobs.StatusDone)
		times = append(times, job.StartedAt)
	}
	slices.SortFunc(times, time.Time.Compare)
	for i := range times {
		for j := i; j < len(times); j++ {
			if most := int(times[j].Sub(times[i])/per) + burst; j-i+1 > most {
				f.Fatalf("%d starts in %s", j-i+1, times[j].Sub(times[i]))
			}
		}
	}
}

// The jobs of all kinds of a queue share its limit. Another queue has none.
func testLimitQueue(f *fixture) {
	f.must(f.client.SetQueueLimit(f.ctx, "a", jobs.LimitValues{Running: 2}))
	first, second, starts := plainKind("k"), plainKind("l"), newStarts()
	var ids []int64
	for _, kind := range []jobs.Kind[string]{first, second} {
		ids = append(ids, f.addTenants(kind, slices.Repeat([]string{"a"}, 30), jobs.Queue("a"))...)
	}
	free := f.addTenants(first, []string{"b", "b", "b"}, jobs.Queue("b"))
	release, ran := make(chan struct{}), make(chan int64, 3)
	handler := func(_ context.Context, job jobs.Job, queue string) error {
		if queue == "b" {
			ran <- job.ID
			<-release
			return nil
		}
		defer starts.begin(queue)()
		return nil
	}
	run := func(r *jobs.Runner) {
		first.Handle(r, handler)
		second.Handle(r, handler)
	}
	f.start(jobs.Config{Queues: map[string]int{"a": 6, "b": 3}}, run)
	f.startOn(f.elsewhere(), jobs.Config{Queues: map[string]int{"a": 6}}, run)
	for range free {
		receive(f, "a job of the other queue", ran)
	}
	close(release)
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	starts.mu.Lock()
	defer starts.mu.Unlock()
	if starts.most["a"] > 2 {
		f.Errorf("%d jobs of the queue ran at once", starts.most["a"])
	}
}

// A limit that is set for a kind bounds jobs without a limit key as well: earlier ones, and those of a plain INSERT.
func testLimitKeyless(f *fixture) {
	kind, starts := plainKind("k"), newStarts()
	ids := f.addTenants(kind, slices.Repeat([]string{"t"}, 20))
	f.must(f.client.SetLimit(f.ctx, "k", "", jobs.LimitValues{Running: 1}))
	ids = append(ids, f.addTenants(kind, slices.Repeat([]string{"t"}, 20))...)
	run := onTenants(kind, func(_ context.Context, job jobs.Job, tenant string) error {
		defer starts.begin(tenant)()
		if job.LimitKey == nil || *job.LimitKey != "" {
			return fmt.Errorf("the key of job %d is %v", job.ID, job.LimitKey)
		}
		return nil
	})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 4}}, run)
	f.startOn(f.elsewhere(), jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 4}}, run)
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	starts.mu.Lock()
	defer starts.mu.Unlock()
	want(f, "the most at once", starts.most["t"], 1)
}

// Jobs that run when a limit is set count, though they have no limit key.
func testLimitSetWhileRunning(f *fixture) {
	kind := plainKind("k")
	began, release := make(chan int64, 3), make(chan struct{})
	first := f.addTenants(kind, []string{"t"})[0]
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 3}}, onTenants(kind, func(_ context.Context, job jobs.Job, _ string) error {
		began <- job.ID
		<-release
		return nil
	}))
	want(f, "the first job", receive(f, "the first job", began), first)
	f.must(f.client.SetLimit(f.ctx, "k", "", jobs.LimitValues{Running: 1}))
	second := f.addTenants(kind, []string{"t"})[0]
	f.eventually("the second job waits for the limit", func() bool { return f.get(second).Status == jobs.StatusWaiting })
	close(release)
	want(f, "the second job", receive(f, "the second job", began), second)
	want(f, "status", f.ended(second).Status, jobs.StatusDone)
	if ended, started := f.get(first).FinishedAt, f.get(second).StartedAt; started.Before(ended) {
		f.Errorf("the second job began %s before the first one ended", ended.Sub(started))
	}
}

// A worker starts a job of another key when one of the kind ends on another worker.
func testLimitTotalElsewhere(f *fixture) {
	f.must(f.client.SetTotalLimit(f.ctx, "k", jobs.LimitValues{Running: 1}))
	kind := tenants(jobs.Limit[string]{})
	began, release := make(chan int64, 3), make(chan struct{})
	run := onTenants(kind, func(_ context.Context, job jobs.Job, tenant string) error {
		began <- job.ID
		if tenant == "a" {
			<-release
		}
		return nil
	})
	first := f.addTenants(kind, []string{"a"}, jobs.Queue("a"))[0]
	f.start(jobs.Config{Queues: map[string]int{"a": 1}}, run)
	want(f, "the first job", receive(f, "the first job", began), first)
	second := f.addTenants(kind, []string{"b"}, jobs.Queue("b"))[0]
	f.startOn(f.elsewhere(), jobs.Config{Queues: map[string]int{"b": 1}}, run)
	f.eventually("the second job waits for the limit", func() bool { return f.get(second).Status == jobs.StatusWaiting })
	close(release)
	want(f, "the second job", receive(f, "the second job", began), second)
	want(f, "status", f.ended(second).Status, jobs.StatusDone)
}

// A claim starts as many jobs of a key as its weight before it turns to the next key.
func testLimitWeights(f *fixture) {
	f.must(f.client.SetLimit(f.ctx, "k", "heavy", jobs.LimitValues{Weight: 3}))
	kind, starts := tenants(jobs.Limit[string]{Running: 100}), newStarts()
	var list []string
	for range 20 {
		list = append(list, "heavy", "light")
	}
	f.addTenants(kind, list)
	var began atomic.Int64
	all := make(chan struct{})
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 8}}, onTenants(kind, func(_ context.Context, _ jobs.Job, tenant string) error {
		starts.begin(tenant)()
		if began.Add(1) == 8 {
			close(all)
		}
		<-all // the first claim fills all slots
		return nil
	}))
	heavy := 0
	for _, tenant := range starts.list[:8] {
		if tenant == "heavy" {
			heavy++
		}
	}
	want(f, "starts of the heavy key among the first eight", heavy, 6)
}

// A job that is enqueued by the name of its kind, without a key, obeys the limit that a program declares.
func testLimitByName(f *fixture) {
	kind, starts := jobs.Kind[string]{Name: "k", Limit: jobs.Limit[string]{Running: 1}}, newStarts()
	run := onTenants(kind, func(_ context.Context, _ jobs.Job, tenant string) error {
		defer starts.begin(tenant)()
		return nil
	})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 4}}, run)
	f.eventually("the limit is declared", func() bool {
		list, err := f.client.Limits(f.ctx)
		f.must(err)
		return len(list) == 1
	})
	other := f.elsewhere() // which has read no settings yet
	payloads := slices.Repeat([]json.RawMessage{json.RawMessage(`"t"`)}, 10)
	list, err := other.EnqueueMany(f.ctx, "k", payloads)
	f.must(err)
	one, err := other.Enqueue(f.ctx, "k", payloads[0], jobs.Queue(jobs.DefaultQueue), jobs.Priority(1))
	f.must(err)
	for _, receipt := range append(list, one) {
		job := f.ended(receipt.ID)
		want(f, "status", job.Status, jobs.StatusDone)
		want(f, "it has a limit key", job.LimitKey != nil, true)
	}
	starts.mu.Lock()
	defer starts.mu.Unlock()
	want(f, "the most at once", starts.most["t"], 1)
}

// A kind whose total is used up keeps no slot from another kind of the queue, however many of its keys wait.
func testLimitFullKind(f *fixture) {
	f.must(f.client.SetTotalLimit(f.ctx, "k", jobs.LimitValues{Running: 1}))
	full, other := tenants(jobs.Limit[string]{}), tenants(jobs.Limit[string]{})
	other.Name = "l"
	began, release := make(chan int64, 30), make(chan struct{})
	defer close(release)
	var list []string
	for i := range 20 {
		list = append(list, fmt.Sprint("t", i))
	}
	f.addTenants(full, list, jobs.Priority(1))
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, func(r *jobs.Runner) {
		full.Handle(r, func(_ context.Context, job jobs.Job, _ string) error {
			began <- job.ID
			<-release
			return nil
		})
		other.Handle(r, func(context.Context, jobs.Job, string) error { return nil })
	})
	receive(f, "a job of the full kind", began)
	for _, id := range f.addTenants(other, []string{"a", "b", "c"}) {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
}

// Many keys without room, of which a worker does not know it yet, keep no slot from a key that has room.
func testLimitFullKeys(f *fixture) {
	kind := tenants(jobs.Limit[string]{Rate: jobs.Per(1, time.Hour)})
	var list []string
	for i := range 300 {
		list = append(list, fmt.Sprint("t", i), fmt.Sprint("t", i))
	}
	f.addTenants(kind, list)
	began := make(chan int64, 1000)
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, onTenants(kind, func(_ context.Context, job jobs.Job, _ string) error {
		began <- job.ID
		return nil
	}))
	for range 300 {
		receive(f, "the first job of a key", began)
	}
	f.must(f.client.SetLimit(f.ctx, "k", "", jobs.LimitValues{Rate: jobs.Per(1, time.Hour)})) // all lanes are looked at again
	late := f.addTenants(kind, []string{"late"})[0]
	want(f, "status", f.ended(late).Status, jobs.StatusDone)
}
