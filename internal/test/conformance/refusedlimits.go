package conformance

import (
	"fmt"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A job with a limit key that the application refuses to promote, to claim or to end holds up no other, of its key or of another one.
func testRefusedLimits(f *fixture, rules func(*fixture, string)) {
	const n = 120
	f.must(f.client.SetLimit(f.ctx, "many", "", jobs.LimitValues{Running: 10}))
	kind := jobs.Kind[string]{Name: "many", Limit: jobs.Limit[string]{Key: func(key string) string { return key }}}
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprint("t", i%3))
	}
	ids := f.addTenants(kind, keys, jobs.In(time.Millisecond)) // so that they must be promoted
	wanted := map[int64]string{}
	claims := int64(0)
	for _, id := range ids {
		if why := refusedFor(id, true); why != "" {
			wanted[id] = why
			if why == noClaim || why == noPromotion {
				claims++
			}
		}
	}
	r := f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 20}}, on("many", nothing))
	in := inspect.New(f.client)
	f.eventually("all others are done", func() bool {
		stats, err := in.Stats(f.ctx)
		f.must(err)
		return stats.Jobs[jobs.StatusDone] == int64(n-len(wanted))
	})
	f.eventually("all refusals are noted", func() bool {
		counts, err := in.Refusals(f.ctx)
		f.must(err)
		return counts["claim"]+counts["promote"] == claims && counts["end"] == int64(len(wanted))-claims
	})
	rules(f, "application_rules_gone")
	f.must(r.stop()) // which tries once more to record ends
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 20}}, on("many", nothing))
	for _, id := range ids {
		want(f, "status", f.get(id).Status, jobs.StatusDone)
	}
}
