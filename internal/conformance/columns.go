package conformance

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

var columnTests = []test{
	{"OnEveryWay", testColumns},
}

// EveryOption returns an option for each column that an enqueue sets and that any job can have. A field of [jobs.Job] that stays empty with
// them fails testColumns: a new option goes here, or its field into one of the lists below.
func EveryOption() []jobs.EnqueueOption {
	return []jobs.EnqueueOption{
		jobs.Priority(3), jobs.MaxAttempts(7), jobs.Timeout(time.Minute), jobs.UserID("u"), jobs.Tags("t"), jobs.Metadata("m"),
		jobs.StartBy(time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)),
	}
}

// Fields that a job has not: without a key, while its handler runs, and before it was claimed.
var (
	withoutKeys   = []string{"UniqueKey", "RequestID"}
	whileItRuns   = []string{"Successor", "Uncounted", "Crashes", "Progress", "Result", "LastError", "CancelRequested", "FinishedAt"}
	beforeItsTurn = append(slices.Clone(whileItRuns), "Attempt", "WorkerID", "LeaseUntil", "StartedAt")
)

// emptyFields returns the fields of a job without a value, but for those that it may lack.
func emptyFields(job jobs.Job, may ...[]string) (names []string) {
	v := reflect.ValueOf(job)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.IsExported() && v.Field(i).IsZero() && !slices.Contains(slices.Concat(may...), field.Name) {
			names = append(names, field.Name)
		}
	}
	return names
}

// Whatever way a job takes into the table and to its handler, no column is lost on it.
func testColumns(f *fixture) {
	payload := json.RawMessage(`{"n": 1}`)
	ways := map[string]func() (ids []int64){
		"one": func() []int64 { return []int64{f.enqueue("k", EveryOption()...)} },
		"with keys": func() []int64 {
			return []int64{f.enqueue("k", append(EveryOption(), jobs.Unique("key"), jobs.RequestID("request"))...)}
		},
		"in a transaction": func() (ids []int64) {
			f.must(f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) error {
				receipt, err := tx.Enqueue(ctx, "k", payload, EveryOption()...)
				f.must(err)
				many, err := tx.EnqueueMany(ctx, "k", slices.Repeat([]json.RawMessage{payload}, 3), EveryOption()...)
				f.must(err)
				for _, r := range append(many, receipt) {
					ids = append(ids, r.ID)
				}
				return nil
			}))
			return ids
		},
		"many": func() (ids []int64) {
			many, err := f.client.EnqueueMany(f.ctx, "k", slices.Repeat([]json.RawMessage{payload}, 30), EveryOption()...)
			f.must(err)
			for _, r := range many {
				ids = append(ids, r.ID)
			}
			return ids
		},
		"callers at once": func() []int64 {
			ids := make([]int64, 32)
			var callers sync.WaitGroup
			for i := range ids {
				callers.Go(func() { ids[i] = f.enqueue("k", EveryOption()...) })
			}
			callers.Wait()
			return ids
		},
	}
	check := func(way string, job jobs.Job, may ...[]string) {
		f.Helper()
		if way != "with keys" {
			may = append(may, withoutKeys)
		}
		if names := emptyFields(job, may...); names != nil {
			f.Errorf("%s: job %d has no %v", way, job.ID, names)
		}
	}
	ran := make(chan jobs.Job, 100)
	run := on("k", func(_ context.Context, job jobs.Job) error { ran <- job; return nil })
	seen := func(way string, n int) {
		f.Helper()
		for range n {
			check(way+", to its handler", receive(f, "the job", ran), whileItRuns)
		}
	}
	for way, enqueue := range ways {
		ids := enqueue()
		for _, id := range ids {
			check(way, f.get(id), beforeItsTurn)
		}
		f.drain(jobs.Config{}, run)
		seen(way, len(ids))
	}
	// The same beside a runner that waits, to which a job may be handed over at its enqueue.
	f.start(jobs.Config{}, run)
	for way, enqueue := range ways {
		if way != "with keys" { // they are taken
			seen(way+" beside a runner", len(enqueue()))
		}
	}
}
