package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var batchTests = []engineTest{
	{"InOrder", testBatchInOrder},
	{"Fails", testBatchFails},
	{"Panics", testBatchPanics},
	{"AtCommitFails", testAtCommitFails},
	{"AtCommitFirstTime", testAtCommitFirstTime},
	{"AtCommitKeepsTheConnection", testAtCommitKeepsTheConnection},
}

// counted returns a statement that adds a change of a queue's counts.
func countedIn(queue string) queued {
	return queuedAddJobChanges(db.AddJobChangesParams{At: 0, Items: fmt.Sprintf(`[["%s", "k", "done", 1, 1]]`, queue)})
}

// writeBatch runs statements in one transaction, and returns their names in the order of their answers.
func writeBatch(t *testing.T, store *backend, list ...queued) (names []string, err error) {
	t.Helper()
	err = store.writer.write(context.WithoutCancel(t.Context()), 1, store.writer.transact, func(ctx context.Context, tx *transaction, _ db.Querier) error {
		names = nil
		return tx.run(ctx, list, func(s queued, _ time.Duration, err error) error {
			names = append(names, s.name)
			return err
		})
	})
	return names, err
}

// wantChanges takes the changes of the counts, and compares their number.
func wantChanges(t *testing.T, store *backend, number int) {
	t.Helper()
	must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		rows, err := q.TakeJobChanges(ctx, db.TakeJobChangesParams{N: 100})
		want(t, "changes", len(rows), number)
		return err
	}))
}

// Each statement gets its answer, whether or not the connection has prepared it.
func testBatchInOrder(t *testing.T, site *site) {
	store, client := open(t, with(site.server.Copy(t, site.template), "pool_max_conns=1"))
	enqueue(t, client, "k", jobs.In(time.Hour))
	for range 3 { // the first time nothing is prepared
		var next db.GetNextRunAfterRow
		var promoted int64
		names, err := writeBatch(t, store, countedIn("a"), queuedGetNextRunAfter(&next),
			queuedPromoteDueJobs(db.PromoteDueJobsParams{Now: 0, N: 1}, &promoted), countedIn("b"))
		must(t, err)
		want(t, "statements", strings.Join(names, " "), "AddJobChanges GetNextRunAfter PromoteDueJobs AddJobChanges")
		if next.RunAfter == 0 || promoted != 0 {
			t.Errorf("the next job is due at %v, and %d were promoted", next, promoted)
		}
		wantChanges(t, store, 2)
	}
	_, err := writeBatch(t, store)
	must(t, err)
}

// The first error is returned, nothing is committed, and the connection can be used again.
func testBatchFails(t *testing.T, site *site) {
	store, _ := open(t, with(site.server.Copy(t, site.template), "pool_max_conns=1"))
	broken := queuedAddJobChanges(db.AddJobChangesParams{At: 0, Items: "["})
	wantChanges(t, store, 0)
	before := store.conns.pool.Stat().NewConnsCount()
	for range 2 {
		names, err := writeBatch(t, store, countedIn("a"), broken, countedIn("b"))
		if err == nil || !strings.Contains(err.Error(), "json") || len(names) != 2 {
			t.Errorf("after %q the error is %v", names, err)
		}
		wantChanges(t, store, 0)
		_, err = writeBatch(t, store, countedIn("a"), countedIn("b"))
		must(t, err)
		wantChanges(t, store, 2)
	}
	want(t, "new connections", store.conns.pool.Stat().NewConnsCount()-before, 0)
}

// exchangeAfter carries out a plan with this end: after runs behind a statement that begins the transaction.
func exchangeAfter(t *testing.T, store *backend, after func(context.Context, db.Querier, *engine.Outcome) error) error {
	t.Helper()
	_, err := store.Exchange(t.Context(), engine.Plan{Look: true, After: after})
	return err
}

// A panic of a function of the plan is the error of the exchange.
func testBatchPanics(t *testing.T, site *site) {
	store, _ := open(t, with(site.server.Copy(t, site.template), "pool_max_conns=1"))
	for range 2 {
		err := exchangeAfter(t, store, func(context.Context, db.Querier, *engine.Outcome) error { panic("oh no") })
		if err == nil || err.Error() != "panic in a write: oh no" || errors.Is(err, jobs.ErrUnknownOutcome) {
			t.Errorf("the error is %v", err)
		}
		_, err = store.Exchange(t.Context(), engine.Plan{Before: func(context.Context, db.Querier, time.Time) error { panic("oh no") }})
		if err == nil || err.Error() != "panic in a write: oh no" {
			t.Errorf("the error is %v", err)
		}
		_, err = writeBatch(t, store, countedIn("a"))
		must(t, err)
		wantChanges(t, store, 1)
	}
}

// prepared returns a store with one connection, on which the statement that goes with the commit is prepared.
func preparedStore(t *testing.T, site *site) (*backend, *jobs.Client) {
	t.Helper()
	store, client := open(t, with(site.server.Copy(t, site.template), "pool_max_conns=1"))
	must(t, exchangeAfter(t, store, func(_ context.Context, _ db.Querier, out *engine.Outcome) error {
		out.Changes = `[["q", "k", "done", 1, 1]]`
		return nil
	}))
	wantChanges(t, store, 1)
	return store, client
}

// A statement that is sent with the commit and fails makes the commit fail, and leaves nothing behind.
func testAtCommitFails(t *testing.T, site *site) {
	store, client := preparedStore(t, site)
	for _, changes := range []string{"[", `[["q", "k", "done", 1, 1]]`} {
		err := exchangeAfter(t, store, func(ctx context.Context, q db.Querier, out *engine.Outcome) error {
			out.Changes = changes
			_, err := q.Pause(ctx, db.PauseParams{Queue: "q", Now: time.Now().UnixMicro()})
			return err
		})
		queues, listErr := inspect.New(client).Queues(t.Context())
		must(t, listErr)
		paused := false
		for _, q := range queues {
			paused = paused || !q.PausedAt.IsZero()
		}
		if fails := changes == "["; fails != (err != nil) || fails && !strings.Contains(err.Error(), "json") || paused == fails {
			t.Errorf("with the changes %s: the error is %v, and the queue is paused: %t", changes, err, paused)
		}
	}
}

// pgx has the server prepare a statement that is new to the connection: not within the commit.
func testAtCommitFirstTime(t *testing.T, site *site) {
	store, _, _ := site.queue(t, beforeCommit(func() { t.Error("the transaction goes on to its commit") }))
	if err := exchangeAfter(t, store, func(_ context.Context, _ db.Querier, out *engine.Outcome) error {
		out.Changes = "["
		return nil
	}); err == nil {
		t.Error("the exchange gives no error")
	}
}

func testAtCommitKeepsTheConnection(t *testing.T, site *site) {
	store, _ := preparedStore(t, site)
	before := store.conns.pool.Stat().NewConnsCount()
	for range 3 {
		if err := exchangeAfter(t, store, func(_ context.Context, _ db.Querier, out *engine.Outcome) error {
			out.Changes = "["
			return nil
		}); err == nil {
			t.Error("the exchange gives no error")
		}
	}
	want(t, "new connections", store.conns.pool.Stat().NewConnsCount()-before, 0)
}
