package conformance

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var idTests = []test{{"NeverGivenTwice", testIDsNeverGivenTwice}}

// The newest jobs are removed in every way that there is. Each next job has an id that no job before it had.
func testIDsNeverGivenTwice(f *fixture) {
	last := f.enqueue("k")
	next := func(what string, id int64) {
		f.Helper()
		if id <= last {
			f.Errorf("after %s a job has the id %d, although one had %d before", what, id, last)
		}
		last = max(last, id)
	}
	for round, remove := range []struct {
		what string
		do   func()
	}{
		{"the newest was deleted", func() { f.must(f.client.Delete(f.ctx, last)) }},
		{"all were pruned", func() {
			f.drain(jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return nil }))
			_, err := inspect.New(f.client).Prune(f.ctx, jobs.StatusDone, 0)
			f.must(err)
		}},
		{"a plain DELETE of all", func() { f.sql("delete_all") }},
		{"a plain DELETE of the newest", func() { f.sql("delete_newest") }},
		{"two plain DELETEs of the newest", func() { f.sql("delete_newest"); f.sql("delete_newest") }},
	} {
		next("two inserts", f.enqueue("k"))
		next("two inserts", f.insert("priority", fmt.Sprint(round)))
		remove.do()
		client := f.client
		if round%2 > 0 { // as after a restart
			client = f.elsewhere()
		}
		receipt, err := client.Enqueue(f.ctx, "k", []byte("{}"))
		f.must(err)
		next(remove.what, receipt.ID)
		remove.do()
		next(remove.what, f.insert("priority", fmt.Sprint(round)))
		remove.do()
		receipts, err := jobs.Kind[letter]{Name: "k"}.EnqueueMany(f.ctx, f.client, make([]letter, 3))
		f.must(err)
		for _, receipt := range receipts {
			next(remove.what, receipt.ID)
		}
	}
}
