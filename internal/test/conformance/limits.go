package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var limitTests = []test{
	{"AtMostRunning", testLimitRunning},
	{"AnEndElsewhereWakes", testLimitWokenElsewhere},
	{"FairBetweenKeys", testLimitFair},
	{"RateInEveryWindow", testLimitRate},
	{"PriorityBesideKeyless", testLimitPriority},
	{"APausedQueueBlocksNoKey", testLimitPausedQueue},
	{"ByPlainSQL", testLimitPlain},
	{"Throttle", testLimitThrottle},
	{"RaisedAndLowered", testLimitChanged},
	{"ACrashFreesTheSlot", testLimitCrash},
	{"AJobThatIsHeldByMistake", testLimitOrphan},
	{"Refused", testLimitRefused},
	{"InManyEnqueues", testLimitInMany},
	{"WithUniqueKeys", testLimitUnique},
	{"BesideABacklog", testLimitBesideBacklog},
	{"KeysAreListed", testLimitKeys},
	{"ALongListWaitsAtOnce", testLimitLongList},
	{"QuickOnesOfManyKeys", testLimitQuick},
	{"OthersBesideQuickOnes", testLimitOthersBeside},
}

// tenants is a kind whose payload is its limit key.
func tenants(limit jobs.Limit[string]) jobs.Kind[string] {
	limit.Key = func(tenant string) string { return tenant }
	return jobs.Kind[string]{Name: "k", Limit: limit, RetryDelay: jobs.FixedRetry(0)}
}

// startsOf records the starts of jobs, and how many of a key ran at once.
type startsOf struct {
	mu     sync.Mutex
	list   []string
	active map[string]int
	most   map[string]int
}

func newStarts() *startsOf { return &startsOf{active: map[string]int{}, most: map[string]int{}} }

// begin records the start of a job of a key, until end.
func (s *startsOf) begin(key string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, key)
	s.active[key]++
	s.most[key] = max(s.most[key], s.active[key])
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.active[key]--
	}
}

// onTenants runs the jobs of a kind by a handler.
func onTenants(kind jobs.Kind[string], handler func(ctx context.Context, job jobs.Job, tenant string) error) handle {
	return func(r *jobs.Runner) { kind.Handle(r, handler) }
}

// addTenants adds a job for each tenant.
func (f *fixture) addTenants(kind jobs.Kind[string], tenants []string, opts ...jobs.EnqueueOption) (ids []int64) {
	f.Helper()
	receipts, err := kind.EnqueueMany(f.ctx, f.client, tenants, opts...)
	f.must(err)
	for _, receipt := range receipts {
		ids = append(ids, receipt.ID)
	}
	return ids
}

// Several workers run at most so many jobs of a key at once, and all of them in the end.
func testLimitRunning(f *fixture) {
	kind, starts := tenants(jobs.Limit[string]{Running: 2}), newStarts()
	var list []string
	for i := range 90 {
		list = append(list, fmt.Sprint("t", i%3))
	}
	ids := f.addTenants(kind, list)
	run := onTenants(kind, func(_ context.Context, job jobs.Job, tenant string) error {
		defer starts.begin(tenant)()
		want(f, "the key of a job", *job.LimitKey, tenant)
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
	for key, most := range starts.most {
		if most > 2 {
			f.Errorf("%d jobs of %s ran at once", most, key)
		}
	}
	want(f, "starts", len(starts.list), 90)
}

// A worker of another queue starts the next job of a key when one of this queue ends.
func testLimitWokenElsewhere(f *fixture) {
	kind := tenants(jobs.Limit[string]{Running: 1})
	release, ran := make(chan struct{}), make(chan int64, 10)
	run := func(queue string) handle {
		return onTenants(kind, func(_ context.Context, job jobs.Job, _ string) error {
			ran <- job.ID
			if queue == "a" {
				<-release
			}
			return nil
		})
	}
	first := f.addTenants(kind, []string{"t"}, jobs.Queue("a"))[0]
	f.start(jobs.Config{Queues: map[string]int{"a": 1}}, run("a"))
	want(f, "the first job", receive(f, "the first job", ran), first)
	f.startOn(f.elsewhere(), jobs.Config{Queues: map[string]int{"b": 1}}, run("b"))
	second := f.addTenants(kind, []string{"t"}, jobs.Queue("b"))[0]
	f.becomes(second, jobs.StatusWaiting)
	f.eventually("the lane waits for an end", func() bool { return f.sql("count_parked_lanes")[0] == 1 })
	close(release)
	want(f, "the second job", receive(f, "the second job", ran), second)
	want(f, "status", f.ended(second).Status, jobs.StatusDone)
}

// A tenant with many jobs keeps no other from its turn.
func testLimitFair(f *fixture) {
	const slots, others = 4, 20
	kind, starts := tenants(jobs.Limit[string]{Running: 100}), newStarts()
	f.addTenants(kind, slices.Repeat([]string{"big"}, 300))
	var list []string
	for i := range others {
		list = append(list, fmt.Sprint("small", i))
	}
	f.addTenants(kind, list)
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: slots}}, onTenants(kind, func(_ context.Context, _ jobs.Job, tenant string) error {
		starts.begin(tenant)()
		return nil
	}))
	want(f, "starts", len(starts.list), 300+others)
	small := 0
	for _, tenant := range starts.list[:others+1+slots] {
		if tenant != "big" {
			small++
		}
	}
	want(f, "single jobs among the first starts", small, others)
}

// In any time there are at most as many starts as the rate gives, and a burst: also after a time without any.
func testLimitRate(f *fixture) {
	const burst, per = 5, 4 * time.Millisecond
	kind := tenants(jobs.Limit[string]{Rate: jobs.Per(1, per), Burst: burst})
	var ids []int64
	for range 2 {
		ids = append(ids, f.addTenants(kind, slices.Repeat([]string{"t"}, 25))...)
		f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 20}}, onTenants(kind, func(context.Context, jobs.Job, string) error { return nil }))
	}
	f.withinRate(ids, per, burst)
}

// Jobs with and without a limit key start in the order of their priorities.
func testLimitPriority(f *fixture) {
	kind := tenants(jobs.Limit[string]{Running: 10})
	for i := range 3 {
		f.addTenants(kind, []string{"t"}, jobs.Priority(2*i))
		f.enqueue("keyless", jobs.Priority(2*i+1))
	}
	var order []int
	note := func(job jobs.Job) error {
		order = append(order, job.Priority)
		return nil
	}
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}},
		onTenants(kind, func(_ context.Context, job jobs.Job, _ string) error { return note(job) }),
		on("keyless", func(_ context.Context, job jobs.Job) error { return note(job) }))
	if !slices.Equal(order, []int{5, 4, 3, 2, 1, 0}) {
		f.Errorf("the jobs started in the order %v", order)
	}
}

// Waiting jobs of a paused queue, and of a queue without a worker, leave the room to others.
func testLimitPausedQueue(f *fixture) {
	kind := tenants(jobs.Limit[string]{Running: 1})
	_, err := f.client.PauseQueue(f.ctx, "paused")
	f.must(err)
	left := append(f.addTenants(kind, []string{"t", "t"}, jobs.Queue("paused"), jobs.Priority(9)), f.addTenants(kind, []string{"t"}, jobs.Queue("unserved"), jobs.Priority(9))...)
	ids := f.addTenants(kind, []string{"t", "t", "t"})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2, "paused": 2}}, onTenants(kind, func(context.Context, jobs.Job, string) error { return nil }))
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	for _, id := range left {
		want(f, "status of a job of another queue", f.get(id).Status, jobs.StatusWaiting)
	}
	_, err = f.client.ResumeQueue(f.ctx, "paused")
	f.must(err)
	for _, id := range left[:2] {
		want(f, "status after the pause", f.ended(id).Status, jobs.StatusDone)
	}
}

// A plain INSERT with a limit key obeys the limit. One that would pass it by is refused.
func testLimitPlain(f *fixture) {
	f.must(f.client.SetLimit(f.ctx, "k", "", jobs.LimitValues{Running: 1}))
	starts := newStarts()
	var ids []int64
	for range 5 {
		ids = append(ids, f.insert("limit_key", "'t'"))
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "test", "conformance", "testdata", "insert_pending_limited.sql"))
	f.must(err)
	if _, err := f.store.Plain(f.ctx, string(text)); err == nil {
		f.Error("a pending job with a limit key is accepted")
	}
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 5}}, on("k", func(context.Context, jobs.Job) error {
		starts.begin("t")()
		return nil
	}))
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	want(f, "the largest number at once", starts.most["t"], 1)
}

// A throttled key starts no job for a time. The attempt does not count, and the job keeps its place.
func testLimitThrottle(f *fixture) {
	const closed = 300 * time.Millisecond
	kind := tenants(jobs.Limit[string]{Running: 1})
	ids := f.addTenants(kind, []string{"t", "t"}, jobs.MaxAttempts(1))
	other := f.addTenants(kind, []string{"other"})[0]
	ended := make(chan time.Time, 1)
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 3}}, onTenants(kind, func(_ context.Context, job jobs.Job, _ string) error {
		if job.ID == ids[0] && job.Attempt == 1 {
			ended <- f.store.Now()
			return jobs.Throttle(closed)
		}
		return nil
	}))
	first, second, free := f.get(ids[0]), f.get(ids[1]), f.get(other)
	want(f, "the attempts of the throttled job", first.Attempt, 2)
	want(f, "its uncounted attempts", first.Uncounted, 1)
	want(f, "its status", first.Status, jobs.StatusDone)
	end := (<-ended).Add(closed)
	for _, job := range []jobs.Job{first, second} {
		if job.StartedAt.Before(end) {
			f.Errorf("job %d started %s before the key was open again", job.ID, end.Sub(job.StartedAt))
		}
	}
	if first.StartedAt.After(second.StartedAt) {
		f.Error("the throttled job has lost its place")
	}
	if !free.StartedAt.Before(end) {
		f.Error("the job of another key was throttled too")
	}
}

// A changed limit applies to the next claims.
func testLimitChanged(f *fixture) {
	kind := tenants(jobs.Limit[string]{Running: 1})
	ids := f.addTenants(kind, slices.Repeat([]string{"t"}, 8))
	began, release := make(chan int64, 20), make(chan struct{})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 8}}, onTenants(kind, func(_ context.Context, job jobs.Job, _ string) error {
		began <- job.ID
		<-release
		return nil
	}))
	running := func(n, left int) {
		f.Helper()
		f.eventually(fmt.Sprint("the limit has the jobs ", n, " running"), func() bool {
			list, err := f.client.Limits(f.ctx)
			f.must(err)
			return len(list) > 0 && list[0].RunningJobs == n && list[0].WaitingJobs == left-n
		})
	}
	receive(f, "the first job", began)
	running(1, 8)
	f.must(f.client.SetLimit(f.as("ann"), "k", "t", jobs.LimitValues{Running: 3}))
	receive(f, "the second job", began)
	receive(f, "the third job", began)
	running(3, 8)
	list, err := f.client.Limits(f.ctx)
	f.must(err)
	want(f, "limits", len(list), 2)
	want(f, "the declared limit", list[0].Declared, true)
	want(f, "the set limit", list[1].Running, 3)
	f.must(f.client.SetLimit(f.ctx, "k", "t", jobs.LimitValues{Running: 2}))
	release <- struct{}{}
	running(2, 7)
	deleted, err := f.client.DeleteLimit(f.ctx, "k", "t")
	f.must(err)
	want(f, "deleted", deleted, true)
	close(release)
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	entries := f.audit(inspect.AuditFilter{Actor: "ann"})
	want(f, "entries of the audit", len(entries), 1)
	want(f, "the action", entries[0].Action, inspect.ActionSetLimit)
}

// The rescue of a job frees its place in the limit.
func testLimitCrash(f *fixture) {
	kind := tenants(jobs.Limit[string]{Running: 1})
	ids := f.addTenants(kind, []string{"t", "t"})
	g := f.ghost("killed", time.Hour)
	stuck := make(chan struct{})
	release := make(chan struct{})
	defer close(release)
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, onTenants(kind, func(_ context.Context, job jobs.Job, _ string) error {
		if job.ID == ids[0] && job.Attempt == 1 {
			close(stuck)
			<-release
		}
		return nil
	}))
	receive(f, "the first job", stuck)
	f.sql("give_running_jobs", "WORKER", fmt.Sprint(g.id))
	g.die()
	f.startOn(f.elsewhere(), jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, onTenants(kind, func(context.Context, jobs.Job, string) error { return nil }))
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	want(f, "crashes", f.get(ids[0]).Crashes, 1)
}

// A worker gives back a job with a limit key that it holds and does not know, after a claim of unknown outcome.
func testLimitOrphan(f *fixture) {
	kind := tenants(jobs.Limit[string]{Running: 1})
	id := f.addTenants(kind, []string{"t"})[0]
	stuck, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, onTenants(kind, func(_ context.Context, job jobs.Job, _ string) error {
		if job.Attempt == 1 {
			close(stuck)
			<-release
		}
		return nil
	}))
	receive(f, "the job", stuck)
	f.startOn(f.elsewhere(), jobs.Config{Name: "mistaken", Queues: map[string]int{jobs.DefaultQueue: 1}},
		onTenants(kind, func(context.Context, jobs.Job, string) error { return nil }))
	var worker int64
	f.eventually("the second worker is there", func() bool {
		list, err := inspect.New(f.client).Workers(f.ctx)
		f.must(err)
		for _, w := range list {
			if w.Name == "mistaken" {
				worker = w.ID
			}
		}
		return worker > 0
	})
	f.sql("give_running_jobs", "WORKER", fmt.Sprint(worker))
	job := f.ended(id)
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "uncounted attempts", job.Uncounted, 1)
}

// Limits out of bounds are refused by field.
func testLimitRefused(f *fixture) {
	for text, v := range map[string]jobs.LimitValues{
		"running of the limit": {Running: -1}, "starts of the rate": {Rate: jobs.Per(-1, time.Second)}, "period of the rate": {Rate: jobs.Per(1, 0)},
		"burst of the limit": {Running: 1, Burst: 2}, "rate": {Rate: jobs.Per(1000000, time.Millisecond)}, "limit": {},
	} {
		wantInvalid(f, text, f.client.SetLimit(f.ctx, "k", "", v))
	}
	long := string(slices.Repeat([]byte("x"), jobs.MaxLimitKeyLength+1))
	wantInvalid(f, "limit key", f.client.SetLimit(f.ctx, "k", long, jobs.LimitValues{Running: 1}))
	_, err := f.client.Enqueue(f.ctx, "k", json.RawMessage("{}"), jobs.LimitKey(long))
	wantInvalid(f, "limit key", err)
	deleted, err := f.client.DeleteLimit(f.ctx, "k", "")
	f.must(err)
	want(f, "deleted", deleted, false)
}

// Each way to enqueue stores the limit key.
func testLimitInMany(f *fixture) {
	kind := tenants(jobs.Limit[string]{Running: 1})
	one, err := kind.Enqueue(f.ctx, f.client, "a")
	f.must(err)
	named, err := kind.Enqueue(f.ctx, f.client, "a", jobs.LimitKey("b"))
	f.must(err)
	many := f.addTenants(kind, []string{"c", "d"})
	items, err := f.client.EnqueueItems(f.ctx, []jobs.Item{kind.Item("e"), jobs.NewItem("k", json.RawMessage("{}"), jobs.LimitKey(""))})
	f.must(err)
	plain := f.enqueue("k")
	for id, key := range map[int64]string{one.ID: "a", named.ID: "b", many[0]: "c", many[1]: "d", items[0].ID: "e", items[1].ID: ""} {
		job := f.get(id)
		want(f, "the limit key of "+key, job.LimitKey != nil && *job.LimitKey == key, true)
		want(f, "the status of "+key+" is one of a due job", job.Status == jobs.StatusWaiting || job.Status == jobs.StatusScheduled, true)
	}
	want(f, "a job without a key", f.get(plain).LimitKey == nil, true)
	want(f, "its status", f.get(plain).Status, jobs.StatusPending)
}

// A waiting job holds its unique key, takes a replacement, and can be updated, cancelled and deleted.
func testLimitUnique(f *fixture) {
	kind := tenants(jobs.Limit[string]{Running: 1})
	release, began := make(chan struct{}), make(chan struct{}, 10)
	f.start(jobs.Config{}, onTenants(kind, func(context.Context, jobs.Job, string) error {
		began <- struct{}{}
		<-release
		return nil
	}))
	f.addTenants(kind, []string{"t"})
	receive(f, "the first job", began)
	enqueue := func(tenant string, opts ...jobs.EnqueueOption) jobs.Receipt {
		f.Helper()
		receipt, err := kind.Enqueue(f.ctx, f.client, tenant, opts...)
		f.must(err)
		return receipt
	}
	id := enqueue("t", jobs.Unique("u")).ID
	f.becomes(id, jobs.StatusWaiting)
	want(f, "the existing job", enqueue("t", jobs.Unique("u")).ID, id)
	want(f, "replaced", enqueue("t", jobs.UniqueReplace("u"), jobs.Priority(3)).Replaced, true)
	want(f, "its priority", f.becomes(id, jobs.StatusWaiting).Priority, 3)
	f.must(f.client.Update(f.ctx, id, jobs.SetPriority(7)))
	want(f, "its priority", f.becomes(id, jobs.StatusWaiting).Priority, 7)
	_, err := f.client.Cancel(f.ctx, id)
	f.must(err)
	want(f, "its status", f.get(id).Status, jobs.StatusCancelled)
	deleted := enqueue("t").ID
	f.becomes(deleted, jobs.StatusWaiting)
	f.must(f.client.Delete(f.ctx, deleted))
	f.must(f.client.Retry(f.ctx, id))
	last := enqueue("t").ID
	close(release)
	for _, id := range []int64{id, last} {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
}

// A job with a limit key starts beside a backlog of prefetched jobs of a lower priority.
func testLimitBesideBacklog(f *fixture) {
	kind := tenants(jobs.Limit[string]{Running: 1})
	f.many(3000)
	left := make(chan int64, 1)
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, on("k", nothing), func(r *jobs.Runner) {
		limited := kind
		limited.Name = "limited"
		limited.Handle(r, func(ctx context.Context, _ jobs.Job, _ string) error {
			stats, err := inspect.New(f.client).Stats(ctx)
			left <- stats.Jobs[jobs.StatusPending]
			return err
		})
	})
	f.eventually("the backlog is being worked on", func() bool { return f.statuses()[jobs.StatusDone] > 0 })
	kind.Name = "limited"
	f.addTenants(kind, []string{"t"}, jobs.Priority(1))
	if n := receive(f, "the job with a limit key", left); n == 0 {
		f.Error("the job has waited for the whole backlog")
	}
}
