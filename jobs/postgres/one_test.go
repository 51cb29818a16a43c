package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var oneTests = []engineTest{
	{"Shell", testShell},
	{"Python", testPython},
	{"OneTrip", testOneTrip},
	{"OneConnection", testOneConnection},
	{"Error", testOneIsCommitted},
	{"EndOfContext", testOneEnds},
	{"BrokenConnection", testOneOfUnknownOutcome},
	{"EndedConnection", testOneOnAnEndedConnection},
	{"Panic", testOnePanics},
	{"Isolation", testOneIsolated},
}

// exchangeOne runs a function of one statement as a simple exchange.
func exchangeOne(ctx context.Context, store *backend, fn engine.Func) error {
	return store.Exchange(ctx, &engine.Exchange{Begin: func() {}, Simple: true, Claiming: true, Claims: []engine.Func{fn}})
}

// addOne adds a job by such an exchange.
func addOne(ctx context.Context, store *backend, result error) error {
	return exchangeOne(ctx, store, func(ctx context.Context, q db.Querier) error {
		_, err := q.EnqueueJob(ctx, add("k"))
		return errors.Join(err, result)
	})
}

func testOneTrip(t *testing.T, site *site) {
	var commits atomic.Int64
	store, client, _ := site.queue(t, beforeCommit(func() { commits.Add(1) }))
	must(t, addOne(t.Context(), store, nil))
	want(t, "commits by themselves, before the statement is prepared", commits.Load(), 1)
	for range 3 {
		must(t, addOne(t.Context(), store, nil))
	}
	want(t, "commits by themselves", commits.Load(), 1)
	want(t, "rows", rows(t, client, "k"), 4)
}

// A claim that needs no later look takes no second connection: another caller may have the only one by then.
func testOneConnection(t *testing.T, site *site) {
	store, client := open(t, with(site.server.Copy(t, site.template), "pool_max_conns=1"))
	must(t, addOne(t.Context(), store, nil)) // it is prepared now
	var taken *pgxpool.Conn
	must(t, store.Exchange(t.Context(), &engine.Exchange{
		Begin: func() {}, Simple: true, Claiming: true,
		Claims: []engine.Func{func(ctx context.Context, q db.Querier) error {
			_, err := q.EnqueueJob(ctx, add("k"))
			return err
		}},
		Keep: func() bool {
			var err error
			taken, err = store.conns.pool.Acquire(t.Context())
			must(t, err)
			return true
		},
	}))
	taken.Release()
	want(t, "rows", rows(t, client, "k"), 2)
}

// An error of the function undoes nothing: its statement is committed.
func testOneIsCommitted(t *testing.T, site *site) {
	store, client, _ := site.queue(t)
	must(t, addOne(t.Context(), store, nil)) // it is prepared now
	no := errors.New("no")
	if err := addOne(t.Context(), store, no); !errors.Is(err, no) {
		t.Errorf("the error is %v", err)
	}
	want(t, "rows", rows(t, client, "k"), 2)
}

func testOneEnds(t *testing.T, site *site) {
	store, client, _ := site.queue(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := addOne(ctx, store, nil); !errors.Is(err, context.Canceled) || errors.Is(err, jobs.ErrUnknownOutcome) {
		t.Errorf("the error is %v", err)
	}
	want(t, "rows", rows(t, client, "k"), 0)
}

// Whether the server received the statement is unknown; it is not run again.
func testOneOfUnknownOutcome(t *testing.T, site *site) {
	for _, cut := range []fate{cutBefore, cutAfter} {
		_, client, url := site.queue(t)
		p := newProxy(t, url)
		store, _ := open(t, p.url(url))
		must(t, addOne(t.Context(), store, nil))
		p.onCommit(func(int) fate { return cut }, func() {})
		if err := addOne(t.Context(), store, nil); !errors.Is(err, jobs.ErrUnknownOutcome) || !store.CanRetry(err) {
			t.Errorf("the error is %v", err)
		}
		p.onCommit(func(int) fate { return pass }, func() {})
		added := 1
		if cut == cutAfter {
			added = 2
		}
		want(t, "rows", rows(t, client, "k"), added)
		must(t, addOne(t.Context(), store, nil))
	}
}

// A connection that the server has ended since leaves no doubt: this shows before the statement is sent.
func testOneOnAnEndedConnection(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	for range 2 {
		must(t, addOne(t.Context(), store, nil))
		exec(t, dial(t, url), "end_others")
	}
	must(t, addOne(t.Context(), store, nil))
	want(t, "rows", rows(t, client, "k"), 3)
}

func testOnePanics(t *testing.T, site *site) {
	store, _, _ := site.queue(t)
	for range 2 {
		must(t, addOne(t.Context(), store, nil))
		err := exchangeOne(t.Context(), store, func(context.Context, db.Querier) error { panic("oh no") })
		if err == nil || err.Error() != "panic in a write: oh no" {
			t.Errorf("the error is %v", err)
		}
	}
}

// Workers that claim at once do not hinder each other more where the database's transactions are isolated.
func testOneIsolated(t *testing.T, site *site) {
	for _, level := range []string{"repeatable read", "serializable"} {
		_, client, url := site.queue(t)
		isolate := strings.Replace(sqlFile(t, "set_for_all", databaseOf(t, url)), "@setting", "default_transaction_isolation = '"+level+"'", 1)
		_, err := dial(t, url).Exec(t.Context(), isolate)
		must(t, err)
		store, _ := open(t, url)
		worker := ghost(t, store, "w", []string{"another"}).id
		enqueueMany(t, client, 200)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for claimed := 1; claimed > 0; {
					runs := 0
					if err := exchangeOne(t.Context(), store, func(ctx context.Context, q db.Querier) error {
						now := store.Now().UnixMicro()
						rows, err := q.ClaimJobs(ctx, db.ClaimJobsParams{
							WorkerID: worker, LeaseUntil: now, Now: now, Kinds: `["k"]`, Queue: jobs.DefaultQueue, N: 1,
						})
						claimed = len(rows)
						if !errors.Is(err, errNotPrepared) {
							runs++
						}
						return err
					}); err != nil {
						t.Errorf("%s: %v", level, err)
						return
					}
					if runs > 1 {
						t.Errorf("%s: a claim was run %d times", level, runs)
					}
				}
			})
		}
		all.Wait()
		stats, err := inspect.New(client).Stats(t.Context())
		must(t, err)
		want(t, "jobs that were claimed", stats.Jobs[jobs.StatusRunning], 200)
	}
}
