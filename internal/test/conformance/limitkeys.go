package conformance

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// The list of limit keys has the jobs of each key, what its next start waits for, and pages.
func testLimitKeys(f *fixture) {
	kind := tenants(jobs.Limit[string]{Running: 1})
	f.addTenants(kind, []string{"a", "a", "a", "b", "", "c"})
	f.addTenants(kind, []string{"d"}, jobs.Queue("unserved"))
	f.addTenants(kind, slices.Repeat([]string{"many"}, inspect.MaxWaitingCounted+5), jobs.Queue("unserved"))
	began, release := make(chan string, 20), make(chan struct{})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 10}}, onTenants(kind, func(_ context.Context, _ jobs.Job, tenant string) error {
		if tenant == "c" {
			return jobs.Throttle(time.Hour)
		}
		began <- tenant
		<-release
		return nil
	}))
	defer close(release)
	for range 3 {
		receive(f, "the first job of a key", began)
	}
	in, keys := inspect.New(f.client), map[string]inspect.LimitKeyInfo{}
	f.eventually("the keys have their jobs", func() bool {
		page, err := in.LimitKeys(f.ctx, inspect.LimitKeyFilter{Kind: "k"})
		f.must(err)
		for _, k := range page.Keys {
			keys[k.Key] = k
		}
		return len(page.Keys) == 6 && keys["a"].Waiting == 2 && keys["a"].NextStart.IsZero() && !keys["c"].ClosedUntil.IsZero() &&
			keys["c"].Waiting == 1 && keys["d"].Waiting == 1 && keys["many"].MoreWaiting && keys["b"].Queues == 0 && keys[""].Queues == 0
	})
	for key, running := range map[string]int64{"": 1, "a": 1, "b": 1, "c": 0, "d": 0, "many": 0} {
		want(f, "the running jobs of "+key, keys[key].Running, running)
		want(f, "whether jobs of the key "+key+" wait", keys[key].Waiting > 0, !keys[key].Oldest.IsZero())
		want(f, "the kind", keys[key].Kind, "k")
	}
	want(f, "the queues of a", keys["a"].Queues, 1)
	want(f, "the counted jobs of many", keys["many"].Waiting, inspect.MaxWaitingCounted)
	want(f, "the next start of c", keys["c"].NextStart.Equal(keys["c"].ClosedUntil), true)
	want(f, "whether c is closed", keys["c"].ClosedUntil.After(f.store.Now()), true)
	want(f, "whether a claim may start a job of d", keys["d"].NextStart.After(f.store.Now()), false)
	want(f, "whether d is ready", keys["d"].NextStart.IsZero(), false)

	var list []string
	filter := inspect.LimitKeyFilter{Kind: "k", Limit: 4}
	for range 2 {
		page, err := in.LimitKeys(f.ctx, filter)
		f.must(err)
		for _, k := range page.Keys {
			list = append(list, k.Key)
		}
		filter.From = page.Next
	}
	want(f, "the keys of the pages", strings.Join(list, " "), " a b c d many")
	want(f, "the page after the last one", filter.From, "")
	none, err := in.LimitKeys(f.ctx, inspect.LimitKeyFilter{Kind: "other"})
	f.must(err)
	want(f, "the keys of another kind", none.Keys != nil && len(none.Keys) == 0, true)

	stats, err := in.LimitStats(f.ctx)
	f.must(err)
	want(f, "kinds with limit keys", len(stats), 1)
	want(f, "the counts of the kind", stats[0], inspect.LimitStats{Kind: "k", Running: 3, Keys: 4})

	_, err = in.LimitKeys(f.ctx, inspect.LimitKeyFilter{})
	wantInvalid(f, "kind", err)
	_, err = in.LimitKeys(f.ctx, inspect.LimitKeyFilter{Kind: "k", From: strings.Repeat("x", jobs.MaxLimitKeyLength+1)})
	wantInvalid(f, "first key", err)
	_, err = in.LimitKeys(f.ctx, inspect.LimitKeyFilter{Kind: "k", Limit: inspect.MaxPage + 1})
	wantInvalid(f, "limit", err)
}
