package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/jobs"
)

var foreignKeyTests = []engineTest{
	{"AJobIsReferredToByItsHandler", testReferenceOfAHandler},
	{"AWaitingJobIsReferredTo", testReferenceToAWaitingJob},
	{"AJobThatExpiresIsReferredTo", testReferenceToAnExpiringJob},
}

// refer leaves a transaction open in which an application's new row refers to a job, and so locks the job's key.
func refer(t *testing.T, conn *pgx.Conn, id int64) pgx.Tx {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), sqlFile(t, "insert_receipt"), id)
	must(t, err)
	return tx
}

// A handler whose open transaction has a row that refers to its job keeps its lease: a renewal changes no key.
func testReferenceOfAHandler(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	conn := dial(t, url)
	run(t, conn, "create_receipts")
	id := enqueue(t, client, "k")
	stop := work(t, client, jobs.Config{Lease: time.Second}, handlers{"k": func(ctx context.Context, job jobs.Job) error {
		tx := refer(t, conn, job.ID)
		began := get(t, client, job.ID).LeaseUntil
		eventually(t, "the lease is renewed, or lost", func() bool {
			return ctx.Err() != nil || get(t, client, job.ID).LeaseUntil.After(began.Add(2*time.Second))
		})
		if ctx.Err() != nil {
			t.Errorf("the context of the handler ended: %v", context.Cause(ctx))
		}
		return tx.Commit(ctx)
	}})
	wantDone(t, client, id, 1)
	must(t, stop())
}

// A job is promoted, claimed and done although an open transaction of the application refers to it.
func testReferenceToAWaitingJob(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	conn, other := dial(t, url), dial(t, url)
	run(t, conn, "create_receipts")
	ids := []int64{enqueue(t, client, "k"), enqueue(t, client, "k", jobs.In(time.Millisecond))}
	pending := refer(t, conn, ids[0])
	scheduled := refer(t, other, ids[1])
	stop := work(t, client, jobs.Config{}, handlers{"k": nothing})
	for _, id := range ids {
		wantDone(t, client, id, 1)
	}
	must(t, stop())
	must(t, pending.Commit(t.Context()))
	must(t, scheduled.Commit(t.Context()))
}

// A job that no worker started in time is cancelled although an open transaction of the application refers to it.
func testReferenceToAnExpiringJob(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	conn := dial(t, url)
	run(t, conn, "create_receipts")
	id := enqueue(t, client, "k", jobs.StartBy(time.Now().Add(time.Second)))
	tx := refer(t, conn, id)
	stop := work(t, client, jobs.Config{}, handlers{"another": nothing})
	eventually(t, "the job is cancelled", func() bool { return get(t, client, id).Status == jobs.StatusCancelled })
	must(t, stop())
	must(t, tx.Commit(t.Context()))
}
