package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var columnTests = []test{
	{"OnEveryWay", testColumns},
}

// Column is a column that an enqueue sets and that any job can have: its field of [jobs.Job], a value of the field, and the option
// that sets it.
type Column struct {
	Field  string
	Value  any
	Option jobs.EnqueueOption
}

// EveryColumn returns all of them, with values that no other n below 1000 has. A field of [jobs.Job] that stays empty with them fails
// testColumns: a new option goes here, or its field into one of the lists below.
func EveryColumn(n int) []Column {
	name := fmt.Sprint(n)
	by := time.Date(2999, 1, 1, 0, 0, n, 0, time.UTC)
	return []Column{
		{"Priority", 1 + n, jobs.Priority(1 + n)},
		{"MaxAttempts", 1001 + n, jobs.MaxAttempts(1001 + n)},
		{"Timeout", time.Hour + time.Duration(n)*time.Second, jobs.Timeout(time.Hour + time.Duration(n)*time.Second)},
		{"UserID", "user " + name, jobs.UserID("user " + name)},
		{"Tags", []string{"tag " + name}, jobs.Tags("tag " + name)},
		{"Metadata", json.RawMessage(name), jobs.Metadata(n)},
		{"StartBy", by, jobs.StartBy(by)},
	}
}

// EveryOption returns the options of EveryColumn.
func EveryOption(n int) []jobs.EnqueueOption {
	var options []jobs.EnqueueOption
	for _, column := range EveryColumn(n) {
		options = append(options, column.Option)
	}
	return options
}

// Fields that a job has not: without a key, while its handler runs, before it was claimed, when it has ended, and after its first attempt.
var (
	withoutKeys   = []string{"UniqueKey", "RequestID", "LimitKey"}
	whileItRuns   = []string{"Successor", "Uncounted", "Crashes", "Progress", "Result", "LastError", "CancelRequested", "FinishedAt"}
	beforeItsTurn = append(slices.Clone(whileItRuns), "Attempt", "WorkerID", "LeaseUntil", "StartedAt")
	whenItEnded   = append(slices.Clone(whileItRuns), "WorkerID", "LeaseUntil")
	triedAgain    = []string{"StartBy"}
)

// emptyFields returns the fields of a job without a value, except the fields that it may lack.
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

// Whatever way a job takes into the table, to its handler and to those who look at it, it keeps every column that was set, and has none
// of another's.
func testColumns(f *fixture) {
	ways := f.ways()
	ran := make(chan jobs.Job, 200)
	run := on("k", func(_ context.Context, job jobs.Job) error {
		ran <- job
		switch n := numberOf(f, job); {
		case job.Attempt > 1:
			return nil
		case n%3 == 1:
			return jobs.RetryIn(0, errors.New("try again"))
		case n%3 == 2:
			return jobs.Discard(errors.New("failed"))
		}
		return nil
	})
	seen := func(way string, n int) {
		f.Helper()
		for range n {
			wantColumns(f, way+", to its handler", receive(f, "the job", ran), whileItRuns)
		}
	}
	for way, enqueue := range ways {
		ids := enqueue()
		again, failed := 0, []int64{}
		for _, id := range ids {
			job := f.get(id)
			wantColumns(f, way, job, beforeItsTurn)
			switch numberOf(f, job) % 3 {
			case 1:
				again++
			case 2:
				failed = append(failed, id)
			}
		}
		wantListed(f, way, ids, beforeItsTurn)
		f.drain(jobs.Config{}, run)
		seen(way, len(ids)+again)
		wantListed(f, way+", ended", ids, whenItEnded)
		for _, id := range failed {
			f.must(f.client.Retry(f.ctx, id))
		}
		f.drain(jobs.Config{}, run)
		seen(way+", retried", len(failed))
	}
	// The same beside a runner that waits, to which a job may be handed over at its enqueue.
	f.start(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error { ran <- job; return nil }))
	for way, enqueue := range ways {
		if way != "with keys" { // they are taken
			seen(way+" beside a runner", len(enqueue()))
		}
	}
}

// ways returns functions that enqueue jobs of kind k in each way that there is, each with numbers as payloads and the options of its number.
func (f *fixture) ways() map[string]func() (ids []int64) {
	next := 0
	number := func() (int, json.RawMessage) {
		next++
		return next, json.RawMessage(fmt.Sprint(next))
	}
	one := func(ctx context.Context, c *jobs.Client, more ...jobs.EnqueueOption) int64 {
		n, payload := number()
		receipt, err := c.Enqueue(ctx, "k", payload, append(EveryOption(n), more...)...)
		f.must(err)
		return receipt.ID
	}
	many := func(ctx context.Context, c *jobs.Client, n int) (ids []int64) {
		items := make([]jobs.Item, n)
		for i := range items {
			n, payload := number()
			items[i] = jobs.NewItem("k", payload, EveryOption(n)...)
		}
		receipts, err := c.EnqueueItems(ctx, items)
		f.must(err)
		for _, r := range receipts {
			ids = append(ids, r.ID)
		}
		return ids
	}
	return map[string]func() []int64{
		"one": func() []int64 { return []int64{one(f.ctx, f.client)} },
		"with keys": func() []int64 {
			return []int64{one(f.ctx, f.client, jobs.Unique("key"), jobs.RequestID("request"), jobs.LimitKey("limit"))}
		},
		"in a transaction": func() (ids []int64) {
			f.must(f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) error {
				ids = append(many(ctx, tx, 3), one(ctx, tx))
				return nil
			}))
			return ids
		},
		"many": func() []int64 { return many(f.ctx, f.client, 30) },
		"alike": func() (ids []int64) {
			n, payload := number()
			receipts, err := f.client.EnqueueMany(f.ctx, "k", slices.Repeat([]json.RawMessage{payload}, 3), EveryOption(n)...)
			f.must(err)
			for _, r := range receipts {
				ids = append(ids, r.ID)
			}
			return ids
		},
		"callers at once": func() []int64 {
			ids := make([]int64, 32)
			var callers sync.WaitGroup
			for i := range ids {
				n, payload := number()
				callers.Go(func() {
					receipt, err := f.client.Enqueue(f.ctx, "k", payload, EveryOption(n)...)
					if err != nil {
						f.Error(err)
					}
					ids[i] = receipt.ID
				})
			}
			callers.Wait()
			return ids
		},
	}
}

// numberOf returns the number that was a job's payload.
func numberOf(f *fixture, job jobs.Job) (n int) {
	f.Helper()
	if err := json.Unmarshal(job.Payload, &n); err != nil {
		f.Errorf("job %d has the payload %s: %v", job.ID, job.Payload, err)
	}
	return n
}

// wantColumns fails for a field without a value, unless the job may lack it, and for one whose value is not that of its number.
func wantColumns(f *fixture, way string, job jobs.Job, may []string) {
	f.Helper()
	if job.UniqueKey == "" {
		may = slices.Concat(may, withoutKeys)
	}
	if job.Attempt > 1 {
		may = slices.Concat(may, triedAgain)
	}
	if names := emptyFields(job, may); names != nil {
		f.Errorf("%s: job %d has no %v", way, job.ID, names)
	}
	for _, column := range EveryColumn(numberOf(f, job)) {
		if slices.Contains(may, column.Field) {
			continue
		}
		if got := reflect.ValueOf(job).FieldByName(column.Field).Interface(); !reflect.DeepEqual(got, column.Value) {
			f.Errorf("%s: job %d with the payload %s has %s %v, not %v", way, job.ID, job.Payload, column.Field, got, column.Value)
		}
	}
}

// wantListed compares the columns of jobs as a list has them.
func wantListed(f *fixture, way string, ids []int64, may []string) {
	f.Helper()
	list, err := inspect.New(f.client).List(f.ctx, inspect.Filter{Kind: "k", Limit: len(ids)})
	f.must(err)
	want(f, way+": jobs listed", len(list), len(ids))
	for _, job := range list {
		if !slices.Contains(ids, job.ID) {
			f.Errorf("%s: job %d is listed among the newest", way, job.ID)
		}
		wantColumns(f, way+", listed", job, may)
	}
}
