package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// The due jobs of a long list wait at once, so that no promotion makes them wait one by one; those of a caller's transaction do not, as that
// may last and would lock their lanes.
func testLimitLongList(f *fixture) {
	const jobsOfEach = 60
	kind := tenants(jobs.Limit[string]{Running: 2})
	list := slices.Repeat([]string{"a", "b"}, jobsOfEach)
	ids := f.addTenants(kind, list)
	for _, id := range []int64{ids[0], ids[len(ids)-1]} {
		want(f, "the status in a list", f.get(id).Status, jobs.StatusWaiting)
	}
	later := f.addTenants(kind, list, jobs.In(time.Hour))
	want(f, "the status of a job that is due later", f.get(later[0]).Status, jobs.StatusScheduled)
	f.must(f.inTx(func(tx Tx) error {
		receipts, err := kind.EnqueueMany(f.ctx, f.client.With(tx), list)
		for _, receipt := range receipts {
			ids = append(ids, receipt.ID)
		}
		return err
	}))
	want(f, "the status after a transaction", f.get(ids[len(ids)-1]).Status, jobs.StatusScheduled)
	starts := newStarts()
	f.start(jobs.Config{}, onTenants(kind, func(_ context.Context, _ jobs.Job, tenant string) error {
		starts.begin(tenant)()
		return nil
	}))
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	want(f, "a job that is due later", f.get(later[0]).Status, jobs.StatusScheduled)
}

// Where attempts are short, a claim fills a key and leaves its lane ready. Several workers then still run at most so many jobs of a
// key at once, and the last lane goes with the last job.
func testLimitQuick(f *fixture) {
	const tenantsAtOnce, jobsOfEach = 40, 25
	kind, starts := tenants(jobs.Limit[string]{Running: 1}), newStarts()
	var list []string
	for i := range tenantsAtOnce {
		list = append(list, fmt.Sprint("t", i))
	}
	ids := f.addTenants(kind, slices.Repeat(list, jobsOfEach))
	config := jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 20}}
	run := onTenants(kind, func(_ context.Context, _ jobs.Job, tenant string) error {
		starts.begin(tenant)()
		return nil
	})
	f.start(config, run)
	f.startOn(f.elsewhere(), config, run)
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	starts.mu.Lock()
	defer starts.mu.Unlock()
	for tenant, most := range starts.most {
		want(f, "the largest number at once of "+tenant, most, 1)
	}
	want(f, "starts", len(starts.list), tenantsAtOnce*jobsOfEach)
}

// A worker whose slots jobs with limit keys fill in each cycle looks for other jobs only now and then, but it does.
func testLimitOthersBeside(f *fixture) {
	const tenantsAtOnce, jobsOfEach = 40, 100
	kind, starts := tenants(jobs.Limit[string]{Running: 2}), newStarts()
	var list []string
	for i := range tenantsAtOnce {
		list = append(list, fmt.Sprint("t", i))
	}
	ids := f.addTenants(kind, slices.Repeat(list, jobsOfEach))
	begun := make(chan struct{}, len(ids))
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 20}}, onTenants(kind, func(_ context.Context, _ jobs.Job, tenant string) error {
		starts.begin(tenant)()
		begun <- struct{}{}
		return nil
	}), on("other", func(context.Context, jobs.Job) error {
		starts.begin("other")()
		return nil
	}))
	for range len(ids) / 10 {
		receive(f, "a start", begun)
	}
	other := f.enqueue("other", jobs.Priority(9))
	for _, id := range append(ids, other) {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	starts.mu.Lock()
	defer starts.mu.Unlock()
	if at := slices.Index(starts.list, "other"); at < 0 || at == len(ids) {
		f.Errorf("the other job started as number %d of %d", at, len(starts.list))
	}
}
