package conformance

import (
	"slices"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// The time 0, which a program may write, is read as the zero time: it is no reason to begin a list anew, and hides no later time.
func testTimesOfZero(f *fixture) {
	in := inspect.New(f.client)
	f.insert("status, queue, run_after, created_at", "'pending', 'old', 0, 0")
	f.enqueue("k", jobs.Queue("new"))
	stats, err := in.Stats(f.ctx)
	f.must(err)
	if stats.OldestPending.IsZero() {
		f.Error("a job that is due since the time 0 hides since when the other waits")
	}
	var failed []int64
	for i := range 5 {
		row := f.failedRow("k", "bad")
		if i > 1 {
			row[27] = 0 // finished_at
		}
		f.importJob(row)
		failed = append(failed, row[0].(int64))
	}
	var listed, summed []int64
	var job jobs.Job
	var failure inspect.Failure
	for range failed {
		list, err := in.ListFailed(f.ctx, inspect.FailedFilter{Limit: 1}, job)
		f.must(err)
		failures, err := in.Failures(f.ctx, inspect.FailedFilter{Limit: 1}, failure)
		f.must(err)
		job, failure = list[0], failures[0]
		listed, summed = append(listed, job.ID), append(summed, failure.ID)
	}
	for _, ids := range [][]int64{listed, summed} {
		if slices.Sort(ids); !slices.Equal(ids, failed) {
			f.Errorf("the pages have the jobs %v, not %v", ids, failed)
		}
	}
}
