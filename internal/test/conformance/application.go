package conformance

import (
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// An application's tables and rules beside the queue's are its own, and hold where the library writes.
var applicationTests = []test{
	{"ForeignKeys", testForeignKeys},
}

// Rows that an application ties to its job are removed when the library removes the job, in any way.
func testForeignKeys(f *fixture) {
	f.sql("create_invoices_cascade")
	remove := map[string]func(id int64){
		"prune": func(int64) {
			n, err := inspect.New(f.client).Prune(f.ctx, jobs.StatusDone, 0)
			f.must(err)
			want(f, "jobs that were pruned", n, 1)
		},
		"delete":      func(id int64) { f.must(f.client.Delete(f.ctx, id)) },
		"delete many": func(id int64) { _, err := inspect.New(f.client).DeleteMany(f.ctx, []int64{id}); f.must(err) },
	}
	for name, remove := range remove {
		job := f.one(nothing)
		f.sql("insert_invoices")
		want(f, "invoices", f.sql("count_invoices")[0], 1)
		remove(job.ID)
		want(f, "invoices after "+name, f.sql("count_invoices")[0], 0)
	}
}
