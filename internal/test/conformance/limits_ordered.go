package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var limitOrderTests = []test{
	{"InOrder", testOrdered},
	{"AnotherQueueComesFirst", testOrderedQueues},
	{"ARetryHoldsTheRest", testOrderedRetry},
	{"AScheduledJobHoldsTheRest", testOrderedScheduled},
	{"AFailureHolds", testOrderedHold},
	{"ARetryOrADeletionResumes", testOrderedResumes},
	{"FailedJobsAreSkipped", testOrderedSkip},
	{"AFailureCancels", testOrderedCancel},
	{"ACrashKeepsTheOrder", testOrderedCrash},
	{"SetAtRunTime", testOrderedSet},
	{"PlainSQL", testOrderedPlain},
}

// ordered returns a kind whose jobs run in the order of their ids, for each payload by itself.
func ordered(onFail jobs.OnFail) jobs.Kind[string] {
	return tenants(jobs.Limit[string]{Ordered: true, OnFail: onFail})
}

// ranInOrder records the starts of jobs by key.
type ranInOrder struct {
	mu     sync.Mutex
	starts map[string][]int64
	active map[string]int
	faults []string
}

func newOrder() *ranInOrder {
	return &ranInOrder{starts: map[string][]int64{}, active: map[string]int{}}
}

// begin records a start, until end.
func (o *ranInOrder) begin(key string, id int64) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.active[key] > 0 {
		o.faults = append(o.faults, fmt.Sprintf("job %d of %s started beside another", id, key))
	}
	o.active[key]++
	if list := o.starts[key]; len(list) == 0 || list[len(list)-1] != id {
		o.starts[key] = append(list, id)
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.active[key]--
	}
}

// of returns the jobs of a key in the order of their first starts.
func (o *ranInOrder) of(key string) []int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.starts[key])
}

// Several workers run the jobs of each key one by one in the order of their ids, also those that are tried again, and whatever their priorities.
func testOrdered(f *fixture) {
	kind, order := ordered(""), newOrder()
	ids := map[string][]int64{}
	for i := range 45 {
		key := fmt.Sprint("t", i%3)
		ids[key] = append(ids[key], f.addTenants(kind, []string{key}, jobs.Priority(i*7%10))...)
	}
	run := onTenants(kind, func(_ context.Context, job jobs.Job, tenant string) error {
		defer order.begin(tenant, job.ID)()
		if job.Attempt == 1 && job.ID%4 == 0 {
			return errors.New("tried again")
		}
		return nil
	})
	config := jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 4}}
	f.start(config, run)
	f.startOn(f.elsewhere(), config, run)
	for key, list := range ids {
		for _, id := range list {
			want(f, "status", f.ended(id).Status, jobs.StatusDone)
		}
		if got := order.of(key); !slices.Equal(got, list) {
			f.Errorf("the jobs of %s ran in the order %v, not %v", key, got, list)
		}
	}
	for _, fault := range order.faults {
		f.Error(fault)
	}
}

// A job in a queue without a worker holds those behind it in other queues, and a drain of these ends.
func testOrderedQueues(f *fixture) {
	kind := ordered("")
	first := f.addTenants(kind, []string{"t"}, jobs.Queue("b"))[0]
	second := f.addTenants(kind, []string{"t"}, jobs.Queue("a"))[0]
	third := f.addTenants(kind, []string{"t"}, jobs.Queue("b"))[0]
	order := newOrder()
	run := onTenants(kind, func(_ context.Context, job jobs.Job, tenant string) error {
		order.begin(tenant, job.ID)()
		return nil
	})
	f.drain(jobs.Config{Queues: map[string]int{"a": 2}}, run)
	want(f, "status of a job behind one of another queue", f.get(second).Status, jobs.StatusWaiting)
	f.start(jobs.Config{Queues: map[string]int{"a": 1}}, run)
	f.startOn(f.elsewhere(), jobs.Config{Queues: map[string]int{"b": 1}}, run)
	for _, id := range []int64{first, second, third} {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	if got := order.of("t"); !slices.Equal(got, []int64{first, second, third}) {
		f.Errorf("the jobs ran in the order %v", got)
	}
}

// limitKey returns the only limit key of the kind.
func (f *fixture) limitKey() inspect.LimitKeyInfo {
	f.Helper()
	page, err := inspect.New(f.client).LimitKeys(f.ctx, inspect.LimitKeyFilter{Kind: "k"})
	f.must(err)
	if len(page.Keys) != 1 {
		f.Fatalf("the limit keys are %+v", page.Keys)
	}
	return page.Keys[0]
}

// wantHeld checks that a waiting job is not started, and why.
func (f *fixture) wantHeld(id int64, why string) {
	f.Helper()
	want(f, "status of a held job", f.get(id).Status, jobs.StatusWaiting)
	d, err := inspect.New(f.client).Why(f.ctx, id)
	f.must(err)
	if !slices.ContainsFunc(d.Findings, func(found inspect.Finding) bool { return strings.Contains(found.Text, why) }) {
		f.Errorf("job %d waits because of %+v, which lacks %q", id, d.Findings, why)
	}
}

// A job that is tried again later holds those behind it.
func testOrderedRetry(f *fixture) {
	kind := ordered("")
	kind.RetryDelay = jobs.FixedRetry(time.Hour)
	ids := f.addTenants(kind, []string{"t", "t"})
	run := onTenants(kind, func(_ context.Context, job jobs.Job, _ string) error {
		if job.ID == ids[0] && job.Attempt == 1 {
			return errors.New("tried again")
		}
		return nil
	})
	f.drain(jobs.Config{}, run)
	want(f, "status of the first job", f.get(ids[0]).Status, jobs.StatusScheduled)
	f.wantHeld(ids[1], fmt.Sprintf("job %d comes first: it is scheduled", ids[0]))
	want(f, "the job that comes first", f.limitKey().Next, ids[0])
	f.must(f.client.Retry(f.ctx, ids[0]))
	f.drain(jobs.Config{}, run)
	for _, id := range ids {
		want(f, "status", f.get(id).Status, jobs.StatusDone)
	}
	if first, second := f.get(ids[0]), f.get(ids[1]); !first.StartedAt.Before(second.StartedAt) {
		f.Error("the second job started first")
	}
}

// A job for later holds those behind it until it is cancelled, which lets the next one start.
func testOrderedScheduled(f *fixture) {
	kind := ordered("")
	first := f.addTenants(kind, []string{"t"}, jobs.At(f.store.Now().Add(time.Hour)))[0]
	second := f.addTenants(kind, []string{"t"})[0]
	run := onTenants(kind, func(context.Context, jobs.Job, string) error { return nil })
	f.drain(jobs.Config{}, run)
	f.wantHeld(second, fmt.Sprintf("job %d comes first", first))
	f.start(jobs.Config{}, run)
	_, err := f.client.Cancel(f.ctx, first)
	f.must(err)
	want(f, "status", f.ended(second).Status, jobs.StatusDone)
}

// failsFirst is a handler that fails the first of the jobs for good.
func failsFirst(kind jobs.Kind[string], ids []int64) handle {
	return onTenants(kind, func(_ context.Context, job jobs.Job, _ string) error {
		if job.ID == ids[0] && job.Attempt == 1 {
			return jobs.Discard(errors.New("no luck"))
		}
		return nil
	})
}

// A failed job holds those behind it, which is visible, until the sequence is resumed.
func testOrderedHold(f *fixture) {
	kind := ordered("")
	ids := f.addTenants(kind, []string{"t", "t", "t"})
	other := f.addTenants(kind, []string{"other"})[0]
	run := failsFirst(kind, ids)
	f.drain(jobs.Config{}, run)
	want(f, "status of the first job", f.get(ids[0]).Status, jobs.StatusFailed)
	want(f, "status of a job of another key", f.get(other).Status, jobs.StatusDone)
	f.wantHeld(ids[1], fmt.Sprintf("job %d has failed", ids[0]))
	key := f.limitKey()
	want(f, "the job that holds the key", key.HeldBy, ids[0])
	want(f, "waiting jobs", key.Waiting, 2)

	f.start(jobs.Config{}, run)
	for _, step := range []struct {
		key     string
		resumed bool
	}{{"nothing", false}, {"t", true}, {"t", false}} {
		resumed, err := f.client.ResumeSequence(f.as("ann"), "k", step.key)
		f.must(err)
		want(f, "a sequence is resumed", resumed, step.resumed)
	}
	for _, id := range ids[1:] {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	want(f, "status of the failed job", f.get(ids[0]).Status, jobs.StatusFailed)
	entries := f.audit(inspect.AuditFilter{Actor: "ann"})
	want(f, "entries of the audit", len(entries), 1)
	want(f, "the action", entries[0].Action, inspect.ActionResumeSequence)
}

// The retry of a failed job, or its deletion, lets those behind it start.
func testOrderedResumes(f *fixture) {
	kind := ordered(jobs.OnFailHold)
	for _, resume := range []func(id int64) error{
		func(id int64) error { return f.client.Retry(f.ctx, id) },
		func(id int64) error { return f.client.Delete(f.ctx, id) },
	} {
		ids := f.addTenants(kind, []string{"t", "t"})
		run := failsFirst(kind, ids)
		f.drain(jobs.Config{}, run)
		f.wantHeld(ids[1], fmt.Sprintf("job %d has failed", ids[0]))
		f.must(resume(ids[0]))
		f.drain(jobs.Config{}, run)
		want(f, "status", f.get(ids[1]).Status, jobs.StatusDone)
	}
}

// Where failed jobs are skipped, the next one starts.
func testOrderedSkip(f *fixture) {
	kind := ordered(jobs.OnFailSkip)
	ids := f.addTenants(kind, []string{"t", "t", "t"})
	f.drain(jobs.Config{}, failsFirst(kind, ids))
	want(f, "status of the first job", f.get(ids[0]).Status, jobs.StatusFailed)
	for _, id := range ids[1:] {
		want(f, "status", f.get(id).Status, jobs.StatusDone)
	}
}

// A failed job cancels those behind it that have not started, of its key alone, and later ones run.
func testOrderedCancel(f *fixture) {
	kind := ordered(jobs.OnFailCancel)
	ids := f.addTenants(kind, []string{"t", "t", "t"})
	later := f.addTenants(kind, []string{"t"}, jobs.At(f.store.Now().Add(time.Hour)))[0]
	other := f.addTenants(kind, []string{"other"})[0]
	run := failsFirst(kind, ids)
	f.drain(jobs.Config{}, run)
	want(f, "status of the first job", f.get(ids[0]).Status, jobs.StatusFailed)
	for _, id := range append(slices.Clone(ids[1:]), later) {
		job := f.get(id)
		want(f, "status of a job behind it", job.Status, jobs.StatusCancelled)
		want(f, "its attempts", job.Attempt, 0)
		want(f, "its error", job.LastError, "a job before it in its sequence has failed")
	}
	want(f, "status of a job of another key", f.get(other).Status, jobs.StatusDone)
	next := f.addTenants(kind, []string{"t"})[0]
	f.drain(jobs.Config{}, run)
	want(f, "status of a later job", f.get(next).Status, jobs.StatusDone)
}

// A job whose worker died runs again before those behind it.
func testOrderedCrash(f *fixture) {
	kind, order := ordered(""), newOrder()
	ids := f.addTenants(kind, []string{"t", "t"})
	g := f.ghost("killed", time.Hour)
	stuck, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, onTenants(kind, func(context.Context, jobs.Job, string) error {
		close(stuck)
		<-release
		return nil
	}))
	receive(f, "the first job", stuck)
	f.sql("give_running_jobs", "WORKER", fmt.Sprint(g.id))
	g.die()
	f.startOn(f.elsewhere(), jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, onTenants(kind, func(_ context.Context, job jobs.Job, tenant string) error {
		defer order.begin(tenant, job.ID)()
		return nil
	}))
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	if got := order.of("t"); !slices.Equal(got, ids) || len(order.faults) > 0 {
		f.Errorf("the jobs ran in the order %v: %q", got, order.faults)
	}
}

// An order that is set at run time applies to jobs that are there, and is listed.
func testOrderedSet(f *fixture) {
	kind, order := tenants(jobs.Limit[string]{}), newOrder()
	var ids []int64
	for i := range 6 {
		ids = append(ids, f.addTenants(kind, []string{"t"}, jobs.Priority(i))...)
	}
	f.must(f.client.SetLimit(f.ctx, "k", "", jobs.LimitValues{Ordered: true, OnFail: jobs.OnFailSkip}))
	list, err := f.client.Limits(f.ctx)
	f.must(err)
	want(f, "limits", len(list), 1)
	want(f, "the limit", list[0].LimitValues, jobs.LimitValues{Running: 1, Ordered: true, OnFail: jobs.OnFailSkip})
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 3}}, onTenants(kind, func(_ context.Context, job jobs.Job, tenant string) error {
		defer order.begin(tenant, job.ID)()
		return nil
	}))
	if got := order.of("t"); !slices.Equal(got, ids) || len(order.faults) > 0 {
		f.Errorf("the jobs ran in the order %v: %q", got, order.faults)
	}
	for name, v := range map[string]jobs.LimitValues{
		"two at once":       {Ordered: true, Running: 2},
		"another word":      {Ordered: true, OnFail: "wait"},
		"on-fail, no order": {Running: 1, OnFail: jobs.OnFailSkip},
	} {
		if err := f.client.SetLimit(f.ctx, "k", "", v); !errors.As(err, new(*jobs.InvalidError)) {
			f.Errorf("%s: %v", name, err)
		}
	}
	if err := f.client.SetTotalLimit(f.ctx, "k", jobs.LimitValues{Ordered: true}); !errors.As(err, new(*jobs.InvalidError)) {
		f.Errorf("an order of a whole kind: %v", err)
	}
}

// Jobs that plain INSERTs add run in order. A failed one that plain SQL deletes no longer holds the others.
func testOrderedPlain(f *fixture) {
	f.must(f.client.SetLimit(f.ctx, "k", "", jobs.LimitValues{Ordered: true}))
	var ids []int64
	for range 4 {
		ids = append(ids, f.insert("limit_key", "'t'"))
	}
	order := newOrder()
	f.start(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		defer order.begin("t", job.ID)()
		if job.ID == ids[1] {
			return jobs.Discard(errors.New("no luck"))
		}
		return nil
	}))
	want(f, "status", f.ended(ids[1]).Status, jobs.StatusFailed)
	f.eventually("the sequence is held", func() bool { return f.limitKey().HeldBy == ids[1] })
	f.sql("delete_one", "JOB", fmt.Sprint(ids[1]))
	for _, id := range ids[2:] {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	if got := order.of("t"); !slices.Equal(got, ids) || len(order.faults) > 0 {
		f.Errorf("the jobs ran in the order %v: %q", got, order.faults)
	}
}
