package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var collideTests = []engineTest{
	{"RetriesOfOneKeyAtOnce", testRetriesOfOneKeyAtOnce},
	{"Deadlock", testDeadlock},
	{"LongCompleteTx", testLongCompleteTx},
	{"RescuersAtOnce", testRescuersAtOnce},
}

// Of failed jobs with one unique key that are retried at once, one is.
func testRetriesOfOneKeyAtOnce(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	const n = 8
	var ids []int64
	var clients []*jobs.Client
	discard := handlers{"k": func(context.Context, jobs.Job) error { return jobs.Discard(nil) }}
	for range n {
		ids = append(ids, enqueue(t, client, "k", jobs.Unique("key")))
		drain(t, client, jobs.Config{}, discard)
		_, other := open(t, url)
		must(t, other.CheckSchema(t.Context()))
		clients = append(clients, other)
	}
	for range 20 {
		var start, all sync.WaitGroup
		start.Add(n)
		var won, lost atomic.Int64
		for i := range n {
			all.Go(func() {
				start.Done()
				start.Wait()
				switch err := clients[i].Retry(t.Context(), ids[i]); {
				case err == nil:
					won.Add(1)
				case errors.Is(err, jobs.ErrUniqueTaken):
					lost.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		want(t, "retries that succeeded", won.Load(), 1)
		want(t, "retries that were too late", lost.Load(), n-1)
		drain(t, client, jobs.Config{}, discard)
	}
}

// A write that the server ends because it and an application's transaction wait for each other is run again.
func testDeadlock(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	first, second := enqueue(t, client, "k"), enqueue(t, client, "k")
	application := dial(t, url)
	exec(t, application, "never_end_deadlocks") // so that the server ends the queue's
	tx, err := application.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), sqlFile(t, "lock_job"), second)
	must(t, err)
	var runs atomic.Int64
	locked := make(chan struct{}, reruns)
	written := make(chan error, 1)
	go func() {
		written <- store.Write(context.Background(), func(ctx context.Context, q db.Querier) error {
			runs.Add(1)
			for _, id := range []int64{first, second} {
				if n, err := q.CancelWaitingJob(ctx, db.CancelWaitingJobParams{Now: 0, ID: id}); err != nil || len(n) != 1 {
					return errors.Join(err, errors.New("nothing to cancel"))
				}
				locked <- struct{}{}
			}
			return nil
		})
	}()
	receive(t, "the queue's first lock", locked)
	_, err = tx.Exec(t.Context(), sqlFile(t, "lock_job"), first) // returns when the server has ended the other
	must(t, err)
	must(t, tx.Commit(t.Context()))
	must(t, receive(t, "the end of the write", written))
	if runs.Load() < 2 {
		t.Error("there was no deadlock")
	}
	for _, id := range []int64{first, second} {
		want(t, "status", get(t, client, id).Status, jobs.StatusCancelled)
	}
}

// While an application's transaction holds the row of a job, no rescuer takes the job although its lease is over, and no
// heartbeat waits. After the transaction the handler's attempt goes on to its end.
func testLongCompleteTx(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	opened, release := make(chan int64), make(chan struct{})
	config := jobs.Config{Lease: 2 * time.Second, Queues: map[string]int{jobs.DefaultQueue: 3}}
	// inTx runs fn in a transaction, which ends even when the attempt is cancelled.
	inTx := func(fn func(ctx context.Context, tx pgx.Tx, job jobs.Job) error) func(context.Context, jobs.Job) error {
		return func(ctx context.Context, job jobs.Job) error {
			if job.Attempt > 1 {
				return jobs.Discard(errors.New("the first attempt was taken for lost, or its end failed"))
			}
			return pgx.BeginFunc(context.WithoutCancel(ctx), store.conns.pool, func(tx pgx.Tx) error { return fn(ctx, tx, job) })
		}
	}
	completes := func(ctx context.Context, tx pgx.Tx, job jobs.Job) error {
		if err := jobs.CompleteTx(ctx, Tx(tx), job, nil); err != nil {
			return err
		}
		opened <- job.ID
		<-release
		return nil
	}
	// It holds the row beyond the end that is rolled back, and renews the lease before others see the row again: between a plain
	// rollback and the attempt's end a rescuer may take the job. The handler then determines the attempt's end.
	rollsBack := func(ctx context.Context, tx pgx.Tx, job jobs.Job) error {
		if _, err := tx.Exec(ctx, sqlFile(t, "lock_job"), job.ID); err != nil {
			return err
		}
		undone, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		if err := completes(ctx, undone, job); err != nil {
			return err
		}
		ctx = context.WithoutCancel(ctx)
		if err := undone.Rollback(ctx); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlFile(t, "renew_lease"), job.ID)
		return err
	}
	stop := work(t, client, config, handlers{"committed": inTx(completes), "rolled back": inTx(rollsBack), "k": nothing})
	// A worker that would take the jobs if they were lost.
	_, rival := open(t, url)
	work(t, rival, jobs.Config{Queues: map[string]int{"other": 1}}, handlers{"other": nothing})

	ids := []int64{enqueue(t, client, "committed"), enqueue(t, client, "rolled back")}
	for range ids {
		receive(t, "an open transaction", opened)
	}
	lease := get(t, client, ids[0]).LeaseUntil
	eventually(t, "the jobs' leases are long over", func() bool { return store.Now().After(lease.Add(2 * time.Second)) })
	worker := get(t, client, ids[0]).WorkerID
	before := store.Now()
	eventually(t, "the worker renews its own lease", func() bool {
		workers, err := inspect.New(client).Workers(t.Context())
		must(t, err)
		for _, w := range workers {
			if w.ID == worker {
				return w.Heartbeat.After(before)
			}
		}
		t.Fatalf("the worker was declared dead: %v", workers)
		return false
	})
	wantDone(t, client, enqueue(t, client, "k"), 1) // other work continues
	close(release)
	for _, id := range ids {
		wantDone(t, client, id, 1)
		list, err := inspect.New(client).Errors(t.Context(), id)
		must(t, err)
		if len(list) > 0 {
			t.Errorf("job %d has the errors %+v", id, list)
		}
	}
	must(t, stop())
}

// Of many concurrent rescuers one does each thing: a lost attempt leaves one row, and its job runs again once.
func testRescuersAtOnce(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	const rescuers, dead, held = 6, 3, 40
	for round := range 3 {
		var ids []int64
		for i := range dead {
			for range held {
				ids = append(ids, enqueue(t, client, "k"))
			}
			g := ghost(t, store, "dead "+string(rune('a'+i)), []string{"k"})
			want(t, "claimed by the ghost", len(g.held), held)
			g.die()
		}
		var starts atomic.Int64
		var all sync.WaitGroup
		for range rescuers {
			_, other := open(t, url)
			runner := newRunner(t, other, jobs.Config{}, handlers{"k": func(context.Context, jobs.Job) error {
				starts.Add(1)
				return nil
			}})
			all.Go(func() {
				if err := runner.Drain(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		want(t, "starts", starts.Load(), dead*held)
		for _, id := range ids {
			wantDone(t, client, id, 2)
			job := get(t, client, id)
			list, err := inspect.New(client).Errors(t.Context(), id)
			must(t, err)
			if len(list) != 1 || list[0].Cause != jobs.CauseCrash || list[0].Attempt != 1 || job.Crashes != 1 {
				t.Errorf("round %d: job %d has %d crashes and the errors %v", round, id, job.Crashes, list)
			}
		}
	}
}
