package conformance

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var transactionTests = []test{
	{"EnqueueCommitted", testEnqueueCommitted},
	{"EnqueueRolledBack", testEnqueueRolledBack},
	{"DatabaseSQL", testDatabaseSQL},
	{"RetryCommitted", testRetryCommitted},
	{"ResumeCommitted", testResumeCommitted},
	{"CancelCommitted", testCancelCommitted},
	{"FailedChanges", testFailedChanges},
	{"FailedChangeOfAMovedQueue", testFailedChangeOfAMovedQueue},
	{"CompleteCommitted", testCompleteCommitted},
	{"CompleteRolledBack", testCompleteRolledBack},
	{"CompleteRolledBackKeepsTheLease", testRollbackKeepsLease},
	{"CompleteThenError", testCompleteThenError},
	{"CompleteAfterTheLeaseIsLost", testCompleteLost},
	{"CompleteOutsideAHandler", testCompleteOutside},
}

// inTx runs fn in an application's transaction and commits it.
func (f *fixture) inTx(fn func(tx Tx) error) error {
	tx, err := f.store.Begin(f.ctx)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// A transaction of database/sql is given to the client alike on both engines.
func testDatabaseSQL(f *fixture) {
	inSQL := func(commit bool, fn func(tx *sql.Tx) error) {
		f.Helper()
		tx, err := f.store.BeginSQL(f.ctx)
		f.must(err)
		f.must(fn(tx))
		if commit {
			f.must(tx.Commit())
		} else {
			f.must(tx.Rollback())
		}
	}
	ids := map[bool]int64{}
	for _, commit := range []bool{true, false} {
		inSQL(commit, func(tx *sql.Tx) error {
			receipt, err := f.client.WithSQL(tx).Enqueue(f.ctx, "k", json.RawMessage("{}"), jobs.Unique(strconv.FormatBool(commit)))
			ids[commit] = receipt.ID
			return err
		})
	}
	list, err := inspect.New(f.client).List(f.ctx, inspect.Filter{})
	f.must(err)
	if len(list) != 1 || list[0].ID != ids[true] {
		f.Errorf("the jobs are %+v, not the committed one, %d", list, ids[true])
	}
	f.drain(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		inSQL(true, func(tx *sql.Tx) error { return jobs.CompleteTx(ctx, f.client.SQLTx(tx), job, "a result") })
		return nil
	}))
	job := f.get(ids[true])
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "result", string(job.Result), `"a result"`)
	for _, none := range []*jobs.Client{f.client.WithSQL(nil), f.client.With(nil)} {
		_, enqueued := none.Enqueue(f.ctx, "k", json.RawMessage("{}"))
		_, cancelled := none.Cancel(f.ctx, job.ID)
		_, read := none.Get(f.ctx, job.ID)
		for what, err := range map[string]error{"an enqueue": enqueued, "a change": cancelled, "a read": read} {
			if err == nil || !strings.Contains(err.Error(), "the transaction is nil") {
				f.Errorf("%s in a nil transaction is answered with %v", what, err)
			}
		}
	}
}

func testEnqueueCommitted(f *fixture) {
	ran := make(chan int64, 3)
	f.start(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		ran <- job.ID
		return nil
	}))
	var id int64
	f.must(f.inTx(func(tx Tx) error {
		client := f.client.With(tx)
		receipt, err := client.Enqueue(f.ctx, "k", json.RawMessage("{}"), jobs.Unique("u"))
		if err != nil {
			return err
		}
		id = receipt.ID
		same, err := client.Enqueue(f.ctx, "k", json.RawMessage("{}"), jobs.Unique("u"))
		want(f, "second receipt", same, jobs.Receipt{ID: id, Existed: true})
		if err != nil {
			return err
		}
		if _, err := f.client.Get(f.ctx, id); !errors.Is(err, jobs.ErrNotFound) {
			f.Errorf("others see the job before the commit: %v", err)
		}
		_, err = client.Get(f.ctx, id)
		return err
	}))
	want(f, "the job that ran", receive(f, "the job of the transaction", ran), id)
	var ids []int64
	f.must(f.inTx(func(tx Tx) (err error) {
		ids, err = receipts.IDs(f.client.With(tx).EnqueueMany(f.ctx, "k", []json.RawMessage{json.RawMessage("1"), json.RawMessage("2")}))
		return err
	}))
	for range ids {
		receive(f, "a job of many", ran)
	}
}

func testEnqueueRolledBack(f *fixture) {
	no := errors.New("no")
	err := f.inTx(func(tx Tx) error {
		_, err := f.client.With(tx).Enqueue(f.ctx, "k", json.RawMessage("{}"))
		return errors.Join(no, err)
	})
	if !errors.Is(err, no) {
		f.Fatal(err)
	}
	list, err := inspect.New(f.client).List(f.ctx, inspect.Filter{})
	f.must(err)
	want(f, "number of jobs", len(list), 0)
}

// started starts a runner and waits until it has done a first job, so that the next one must wake it.
func (f *fixture) started(config jobs.Config, handles ...handle) {
	f.Helper()
	f.start(config, append(handles, on("first", nothing))...)
	f.ended(f.enqueue("first"))
}

func testRetryCommitted(f *fixture) {
	id := f.enqueue("k")
	_, err := f.client.Cancel(f.ctx, id)
	f.must(err)
	ran := make(chan int64, 1)
	f.started(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		ran <- job.ID
		return nil
	}))
	f.must(f.inTx(func(tx Tx) error { return f.client.With(tx).Retry(f.ctx, id) }))
	want(f, "the job that ran", receive(f, "the job that was retried", ran), id)
}

func testResumeCommitted(f *fixture) {
	changed, err := f.client.PauseQueue(f.ctx, "q")
	f.must(err)
	want(f, "paused", changed, true)
	ran := make(chan int64, 1)
	f.started(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1, "q": 1}}, on("k", func(_ context.Context, job jobs.Job) error {
		ran <- job.ID
		return nil
	}))
	id := f.enqueue("k", jobs.Queue("q"))
	f.must(f.inTx(func(tx Tx) error {
		changed, err := f.client.With(tx).ResumeQueue(f.ctx, "q")
		want(f, "resumed", changed, true)
		return err
	}))
	want(f, "the job that ran", receive(f, "the job of the queue", ran), id)
}

func testCancelCommitted(f *fixture) {
	id := f.enqueue("k")
	f.must(f.inTx(func(tx Tx) error {
		status, err := f.client.With(tx).Cancel(f.ctx, id)
		want(f, "status", status, jobs.StatusCancelled)
		if job := f.get(id); job.Status != jobs.StatusPending {
			f.Errorf("others see the job as %s before the commit", job.Status)
		}
		return err
	}))
	want(f, "status", f.ended(id).Status, jobs.StatusCancelled)
}

// business stands for the application's own write: a job of another kind, which shows whether it was committed.
func (f *fixture) business(tx Tx) error {
	_, err := f.client.With(tx).Enqueue(f.ctx, "business", json.RawMessage("{}"))
	return err
}

func (f *fixture) wantBusiness(n int) {
	f.Helper()
	list, err := inspect.New(f.client).List(f.ctx, inspect.Filter{Kind: "business"})
	f.must(err)
	want(f, "committed writes of the application", len(list), n)
}

func testCompleteCommitted(f *fixture) {
	job := f.one(func(ctx context.Context, job jobs.Job) error {
		return f.inTx(func(tx Tx) error {
			return errors.Join(f.business(tx), jobs.CompleteTx(ctx, tx, job, map[string]int{"n": 1}))
		})
	})
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "attempt", job.Attempt, 1)
	want(f, "result", string(job.Result), `{"n":1}`)
	f.wantBusiness(1)
}

func testCompleteRolledBack(f *fixture) {
	no := errors.New("no")
	job := f.one(func(ctx context.Context, job jobs.Job) error {
		err := f.inTx(func(tx Tx) error {
			if err := errors.Join(f.business(tx), jobs.CompleteTx(ctx, tx, job, nil)); err != nil {
				return err
			}
			if job.Attempt == 1 {
				return no
			}
			return nil
		})
		return err
	})
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "attempt", job.Attempt, 2)
	f.wantBusiness(1)
	f.wantError(job.ID, jobs.CauseError, "no")
}

// testRollbackKeepsLease runs a handler that continues after the rollback of a CompleteTx: its lease is still renewed.
func testRollbackKeepsLease(f *fixture) {
	id := f.enqueue("k")
	rolledBack, release := make(chan struct{}), make(chan struct{})
	f.start(jobs.Config{Lease: 3 * time.Second}, on("k", func(ctx context.Context, job jobs.Job) error {
		no := errors.New("no")
		err := f.inTx(func(tx Tx) error { return errors.Join(no, jobs.CompleteTx(ctx, tx, job, nil)) })
		if !errors.Is(err, no) {
			return err
		}
		close(rolledBack)
		<-release
		return nil
	}))
	receive(f, "the rollback", rolledBack)
	before := f.get(id).LeaseUntil
	f.eventually("the lease is renewed or lost", func() bool {
		job := f.get(id)
		return job.Attempt > 1 || job.Status != jobs.StatusRunning || job.LeaseUntil.After(before)
	})
	close(release)
	job := f.ended(id)
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "attempt", job.Attempt, 1)
}

func testCompleteThenError(f *fixture) {
	job := f.one(func(ctx context.Context, job jobs.Job) error {
		return errors.Join(
			f.inTx(func(tx Tx) error { return jobs.CompleteTx(ctx, tx, job, "committed") }),
			errors.New("an error after the commit"))
	})
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "attempt", job.Attempt, 1)
	want(f, "result", string(job.Result), `"committed"`)
	want(f, "errors", len(f.errors(job.ID)), 0)
}

func testCompleteLost(f *fixture) {
	id := f.enqueue("k")
	f.takeDuring(func(ctx context.Context, job jobs.Job) error {
		f.takeOver(job)
		err := f.inTx(func(tx Tx) error { return errors.Join(f.business(tx), jobs.CompleteTx(ctx, tx, job, nil)) })
		if !errors.Is(err, jobs.ErrLeaseLost) {
			f.Errorf("CompleteTx gives %v", err)
		}
		if cause := context.Cause(ctx); !errors.Is(cause, jobs.ErrLeaseLost) {
			f.Errorf("the handler's context has the cause %v", cause)
		}
		return err
	})
	want(f, "status", f.get(id).Status, jobs.StatusRunning)
	f.wantBusiness(0)
}

func testCompleteOutside(f *fixture) {
	job := f.get(f.enqueue("k"))
	err := f.inTx(func(tx Tx) error { return jobs.CompleteTx(f.ctx, tx, job, nil) })
	if err == nil {
		f.Error("CompleteTx works outside a handler")
	}
	want(f, "status", f.get(job.ID).Status, jobs.StatusPending)
}
