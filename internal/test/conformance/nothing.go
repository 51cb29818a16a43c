package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var nothingTests = []test{
	{"Done", testNothingKept},
	{"FailedAndCancelledStay", testNothingOfOthers},
	{"CompletedInATransaction", testNothingCompletedInTx},
	{"RolledBack", testNothingRolledBack},
	{"LeaseLost", testNothingWithoutLease},
	{"HandedOver", testNothingHandedOver},
	{"RowMayNotGo", testNothingOfReferred},
	{"OtherValuesOfKeep", testKeepRefused},
}

// brief returns a kind of which no done job is kept.
func brief(handler func(ctx context.Context, job jobs.Job) error) handle {
	return onKind(jobs.Kind[json.RawMessage]{Name: "k", Keep: jobs.Nothing, RetryDelay: jobs.FixedRetry(0)}, handler)
}

// wantGone checks that no row of a job is left.
func (f *fixture) wantGone(ids ...int64) {
	f.Helper()
	for _, id := range ids {
		if job, err := f.client.Get(f.ctx, id); !errors.Is(err, jobs.ErrNotFound) {
			f.Errorf("job %d is %s, %v", id, job.Status, err)
		}
		want(f, "errors of a job that is gone", len(f.errors(id)), 0)
	}
}

// doneInHistory returns how many jobs were done, as the history has it.
func (f *fixture) doneInHistory() int64 {
	f.Helper()
	history, err := inspect.New(f.client).History(f.ctx, inspect.HistoryFilter{Since: f.store.Now().Add(-time.Hour)})
	f.must(err)
	return history.Total.Done
}

func testNothingKept(f *fixture) {
	const n = 300
	ids := append(f.many(n), f.enqueue("k", jobs.RequestID("r"), jobs.Unique("u")))
	f.drain(jobs.Config{}, brief(func(_ context.Context, job jobs.Job) error {
		if job.ID%3 == 0 {
			return job.SetResult("a result")
		}
		if job.ID%3 == 1 && job.Attempt == 1 {
			return errors.New("not yet")
		}
		return nil
	}))
	f.wantGone(ids...)
	f.wantCounts()
	want(f, "done jobs of the history", f.doneInHistory(), n+1)
	_, err := f.client.Wait(f.ctx, ids[0])
	if !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("Wait returns %v", err)
	}
	next := f.enqueue("k", jobs.RequestID("r"), jobs.Unique("u"))
	if next <= slices.Max(ids) {
		f.Errorf("the id %d was given before", next)
	}
}

func testNothingOfOthers(f *fixture) {
	ids := map[jobs.Status]int64{}
	for _, status := range []jobs.Status{jobs.StatusFailed, jobs.StatusCancelled, jobs.StatusScheduled} {
		ids[status] = f.enqueue("k", jobs.UserID(string(status)))
	}
	f.drain(jobs.Config{}, brief(func(_ context.Context, job jobs.Job) error {
		switch jobs.Status(job.UserID) {
		case jobs.StatusFailed:
			return jobs.Discard(errors.New("bad"))
		case jobs.StatusCancelled:
			return jobs.Cancel(nil)
		}
		return jobs.Snooze(time.Hour)
	}))
	for status, id := range ids {
		want(f, "status", f.get(id).Status, status)
	}
}

// A job that ended in the handler's own transaction is gone with its commit, whatever the handler returns.
func testNothingCompletedInTx(f *fixture) {
	client, seen := f.observed()
	ids := []int64{f.enqueue("k"), f.enqueue("k", jobs.UserID("error")), f.enqueue("k", jobs.UserID("snooze"))}
	f.must(f.runner(client, jobs.Config{}, brief(func(ctx context.Context, job jobs.Job) error {
		f.must(f.inTx(func(tx Tx) error { return jobs.CompleteTx(ctx, tx, job, "a result") }))
		f.wantGone(job.ID)
		switch job.UserID {
		case "error":
			return errors.New("too late")
		case "snooze":
			return jobs.Snooze(time.Hour)
		}
		return nil
	})).Drain(f.ctx))
	f.wantGone(ids...)
	f.wantCounts()
	want(f, "done jobs of the history", f.doneInHistory(), int64(len(ids)))
	seen.told()
	want(f, "attempts that finished", len(seen.finished), len(ids))
	for _, e := range seen.finished {
		want(f, "fate", e.Fate, jobs.FateDone)
	}
}

func testNothingRolledBack(f *fixture) {
	done, again := f.enqueue("k"), f.enqueue("k", jobs.UserID("error"))
	no := errors.New("rolled back")
	f.drain(jobs.Config{}, brief(func(ctx context.Context, job jobs.Job) error {
		if job.Attempt > 1 {
			return jobs.Snooze(time.Hour)
		}
		err := f.inTx(func(tx Tx) error { return errors.Join(no, jobs.CompleteTx(ctx, tx, job, nil)) })
		if job.UserID == "error" {
			return err
		}
		return nil
	}))
	f.wantGone(done)
	want(f, "status of the job whose handler returned the error", f.get(again).Status, jobs.StatusScheduled)
	f.wantCounts()
	want(f, "done jobs of the history", f.doneInHistory(), 1)
}

// A job that another worker holds stays.
func testNothingWithoutLease(f *fixture) {
	id := f.enqueue("k")
	var attempt int64
	var taker *ghost
	r := f.start(jobs.Config{}, brief(func(_ context.Context, job jobs.Job) error {
		attempt, taker = f.takeOver(job)
		return nil
	}))
	f.eventually("the job was taken over", func() bool { return f.get(id).Attempt == 2 })
	f.must(r.stop())
	want(f, "status", f.get(id).Status, jobs.StatusRunning)
	want(f, "rows that the new holder completes", taker.complete(id, attempt), 1)
}

func testNothingHandedOver(f *fixture) {
	ran := make(chan int64, 100)
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, brief(func(_ context.Context, job jobs.Job) error {
		ran <- job.ID
		return nil
	}))
	for range 20 { // some are handed over, others claimed
		id := f.enqueue("k")
		want(f, "the job that runs", receive(f, "the job", ran), id)
		f.eventually("the job is gone", func() bool {
			_, err := f.client.Get(f.ctx, id)
			return errors.Is(err, jobs.ErrNotFound)
		})
	}
}

// When the application refers to a job that is done, its row stays, as done; jobs beside it go.
func testNothingOfReferred(f *fixture) {
	f.sql("create_receipts_of_jobs")
	ids := f.many(20)
	f.sql("insert_receipt_of_job", "JOB_ID", strconv.FormatInt(ids[7], 10))
	ran := map[int64]int{}
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, brief(func(_ context.Context, job jobs.Job) error {
		ran[job.ID]++
		return nil
	}))
	want(f, "status of the job that is referred to", f.get(ids[7]).Status, jobs.StatusDone)
	want(f, "jobs that ran", len(ran), len(ids))
	for id, n := range ran {
		want(f, "runs", n, 1)
		if id != ids[7] {
			f.wantGone(id)
		}
	}
}

func testKeepRefused(f *fixture) {
	runner, err := jobs.NewRunner(f.client, jobs.Config{})
	f.must(err)
	defer func() {
		if recover() == nil {
			f.Error("a time too short was taken for Keep")
		}
	}()
	onKind(jobs.Kind[json.RawMessage]{Name: "k", Keep: time.Second - 1}, nothing)(runner)
}
