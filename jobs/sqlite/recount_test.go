package sqlite

import (
	"context"
	"errors"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// wantEnded compares the counts of one queue and kind with the numbers of ended jobs by status.
func wantEnded(t *testing.T, client *jobs.Client, want map[jobs.Status]int64) {
	t.Helper()
	counts, err := inspect.New(client).Counts(t.Context())
	must(t, err)
	have := map[jobs.Status]int64{}
	for _, n := range counts {
		have[n.Status] += n.Jobs
	}
	for _, status := range []jobs.Status{jobs.StatusDone, jobs.StatusFailed, jobs.StatusCancelled} {
		if have[status] != want[status] {
			t.Errorf("%d jobs are counted as %s, not %d", have[status], status, want[status])
		}
	}
}

// A recount reads more jobs than fit into one of its steps.
func TestRecountInSteps(t *testing.T) {
	store, client := queue(t)
	const rows = 2*recountStep + recountStep/2
	exec(t, plain(t, store.path), "add_ended_jobs", rows)
	wrong, err := inspect.New(client).Recount(t.Context())
	must(t, err)
	if wrong != 2 {
		t.Errorf("%d counts were wrong, not 2", wrong)
	}
	wantEnded(t, client, map[jobs.Status]int64{jobs.StatusDone: rows - rows/10, jobs.StatusFailed: rows / 10})
}

// Jobs written between the snapshot of a recount and its own write are counted once.
func TestRecountThatWritesLater(t *testing.T) {
	store, client := queue(t)
	exec(t, plain(t, store.path), "add_ended_jobs", 10)
	missing, err := store.upkeep.missingCounts(t.Context())
	must(t, err)

	must(t, client.Delete(t.Context(), 10)) // it failed
	must(t, client.Delete(t.Context(), 9))
	_, err = client.Cancel(t.Context(), enqueue(t, client, "k"))
	must(t, err)
	id := enqueue(t, client, "k")
	drainAll(t, client)
	must(t, client.Delete(t.Context(), id))
	enqueue(t, client, "k")
	drainAll(t, client) // adds the notes up

	must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error { return missing.Write(ctx, q, 0) }))
	wantEnded(t, client, map[jobs.Status]int64{jobs.StatusDone: 9, jobs.StatusCancelled: 1})
	wrong, err := inspect.New(client).Recount(t.Context())
	must(t, err)
	if wrong != 0 {
		t.Errorf("%d counts are wrong afterwards", wrong)
	}
}

func drainAll(t *testing.T, client *jobs.Client) {
	t.Helper()
	runner, err := jobs.NewRunner(client, jobs.Config{})
	must(t, err)
	jobs.Kind[any]{Name: "k"}.Handle(runner, func(context.Context, jobs.Job, any) error { return nil })
	must(t, runner.Drain(t.Context()))
}

// A recount waits for one in a transaction that another caller has begun, and then finds nothing to correct.
func TestRecountBesideOneInATransaction(t *testing.T) {
	store, client := queue(t)
	pool := plain(t, store.path)
	exec(t, pool, "add_ended_jobs", 10)
	tx, err := pool.BeginTx(t.Context(), nil)
	must(t, err)
	wrong, err := inspect.New(client.With(Tx(tx))).Recount(t.Context())
	must(t, err)
	if wrong != 2 {
		t.Errorf("in the transaction %d counts were wrong, not 2", wrong)
	}
	type answer struct {
		wrong int64
		err   error
	}
	outside := make(chan answer, 1)
	go func() {
		for {
			wrong, err := inspect.New(client).Recount(t.Context())
			if errors.Is(err, jobs.ErrBusy) { // it waits for the write lock for some seconds only
				continue
			}
			outside <- answer{wrong, err}
			return
		}
	}()
	eventually(t, "the other recount has begun", func() bool {
		unlock, err := store.side.tryLock(recountFile)
		must(t, err)
		if unlock != nil {
			unlock()
		}
		return unlock == nil
	})
	must(t, tx.Commit())
	a := receive(t, "the other recount", outside)
	must(t, a.err)
	if a.wrong != 0 {
		t.Errorf("outside %d counts were wrong, not 0", a.wrong)
	}
	wantEnded(t, client, map[jobs.Status]int64{jobs.StatusDone: 9, jobs.StatusFailed: 1})
}

// A recount in a transaction, which holds the write lock, does not wait for another one: that may need the write lock.
func TestRecountInATransactionBesideAnother(t *testing.T) {
	store, client := queue(t)
	unlock, err := store.side.lock(t.Context(), recountFile)
	must(t, err)
	defer unlock()
	tx, err := plain(t, store.path).BeginTx(t.Context(), nil)
	must(t, err)
	if _, err := inspect.New(client.With(Tx(tx))).Recount(t.Context()); !errors.Is(err, jobs.ErrBusy) {
		t.Errorf("the error is %v", err)
	}
	must(t, tx.Rollback())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := inspect.New(client).Recount(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("outside a transaction, with a context that has ended, the error is %v", err)
	}
}

// A migration may need temporary files of twice the size of a table: not in memory.
func TestMigrationsSortInFiles(t *testing.T) {
	store, _ := queue(t)
	pool, err := openPool(store.path, store.schema.migrating(true, 2), false)
	must(t, err)
	if kind := scan[int](t, pool, "temp_store"); kind != 1 {
		t.Errorf("temp_store of the connection that migrates is %d, not 1 (file)", kind)
	}
	must(t, pool.Close())
	if kind := scan[int](t, store.pools.readDB, "temp_store"); kind != 2 {
		t.Errorf("temp_store of a connection that reads is %d, not 2 (memory)", kind)
	}
}
