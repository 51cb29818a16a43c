package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var oneTests = []engineTest{
	{"Shell", testShell},
	{"Python", testPython},
	{"OneTrip", testOneTrip},
	{"OneConnection", testOneConnection},
	{"EndOfContext", testOneEnds},
	{"BrokenConnection", testOneOfUnknownOutcome},
	{"EndedConnection", testOneOnAnEndedConnection},
	{"Isolation", testOneIsolated},
}

// claimOne claims one job by a simple plan, and returns the number of claimed jobs.
func claimOne(ctx context.Context, store *backend, worker int64, ran func(string)) (int, error) {
	out, err := store.Exchange(ctx, engine.Plan{
		Simple: true, Look: true, Claims: []engine.QueueClaim{{Queue: jobs.DefaultQueue, N: 1}},
		Claimer: engine.Claimer{WorkerID: worker, Lease: time.Hour, Kinds: `["k"]`},
		Ran:     func(name string, _ time.Duration, _ error) { ran(name) },
	})
	if err != nil {
		return 0, err
	}
	return len(out.Claimed[0]), nil
}

// mustClaim claims one job.
func mustClaim(t *testing.T, store *backend, worker int64) {
	t.Helper()
	n, err := claimOne(t.Context(), store, worker, func(string) {})
	must(t, err)
	want(t, "claimed jobs", n, 1)
}

func running(t *testing.T, client *jobs.Client) int64 {
	t.Helper()
	stats, err := inspect.New(client).Stats(t.Context())
	must(t, err)
	return stats.Jobs[jobs.StatusRunning]
}

func testOneTrip(t *testing.T, site *site) {
	var commits atomic.Int64
	first, client, url := site.queue(t)
	worker := ghost(t, first, "w", []string{"another"}).id
	enqueueMany(t, client, 5)
	store, _ := open(t, url, beforeCommit(func() { commits.Add(1) }))
	mustClaim(t, store, worker)
	want(t, "commits by themselves, before the statement is prepared", commits.Load(), 1)
	for range 3 {
		mustClaim(t, store, worker)
	}
	want(t, "commits by themselves", commits.Load(), 1)
	want(t, "jobs that run", running(t, client), 4)
}

// A simple claim needs one connection.
func testOneConnection(t *testing.T, site *site) {
	store, client := open(t, with(site.server.Copy(t, site.template), "pool_max_conns=1"))
	worker := ghost(t, store, "w", []string{"another"}).id
	enqueueMany(t, client, 3)
	for range 3 {
		mustClaim(t, store, worker)
	}
}

func testOneEnds(t *testing.T, site *site) {
	store, client, _ := site.queue(t)
	worker := ghost(t, store, "w", []string{"another"}).id
	enqueueMany(t, client, 3)
	mustClaim(t, store, worker) // it is prepared now
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := claimOne(ctx, store, worker, func(string) {}); !errors.Is(err, context.Canceled) || errors.Is(err, jobs.ErrUnknownOutcome) {
		t.Errorf("the error is %v", err)
	}
	want(t, "jobs that run", running(t, client), 1)
}

// Whether the server received the statement is unknown; it is not run again.
func testOneOfUnknownOutcome(t *testing.T, site *site) {
	for _, cut := range []fate{cutBefore, cutAfter} {
		_, client, url := site.queue(t)
		p := newProxy(t, url)
		store, _ := open(t, p.url(url))
		worker := ghost(t, store, "w", []string{"another"}).id
		enqueueMany(t, client, 5)
		mustClaim(t, store, worker)
		p.onCommit(func(int) fate { return cut }, func() {})
		if _, err := claimOne(t.Context(), store, worker, func(string) {}); !errors.Is(err, jobs.ErrUnknownOutcome) || !store.CanRetry(err) {
			t.Errorf("the error is %v", err)
		}
		p.onCommit(func(int) fate { return pass }, func() {})
		claimed := int64(1)
		if cut == cutAfter {
			claimed = 2
		}
		want(t, "jobs that run", running(t, client), claimed)
		mustClaim(t, store, worker)
	}
}

// A connection that the server has ended since leaves no doubt: this shows before the statement is sent.
func testOneOnAnEndedConnection(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	worker := ghost(t, store, "w", []string{"another"}).id
	enqueueMany(t, client, 5)
	for range 2 {
		mustClaim(t, store, worker)
		exec(t, dial(t, url), "end_others")
	}
	mustClaim(t, store, worker)
	want(t, "jobs that run", running(t, client), 3)
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
					var err error
					if claimed, err = claimOne(t.Context(), store, worker, func(name string) {
						if name == "ClaimJobs" {
							runs++
						}
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
		want(t, "jobs that were claimed", running(t, client), 200)
	}
}
