package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var outcomeTests = []engineTest{
	{"BackendEndsBeforeCommit", testBackendEndsBeforeCommit},
	{"ConnectionBreaksAtCommit", testConnectionBreaksAtCommit},
	{"AllConnectionsBreakAtCommit", testAllConnectionsBreakAtCommit},
	{"AcknowledgementsAreTrue", testAcknowledgementsAreTrue},
	{"CommitOfAFailedTransaction", testCommitOfAFailedTransaction},
}

func beforeCommit(fn func()) Option      { return func(o *options) { o.onCommit = fn } }
func askingFor(d time.Duration) Option   { return func(o *options) { o.asking = d } }
func silentAfter(d time.Duration) Option { return func(o *options) { o.silence = d } }
func add(kind string) db.EnqueueJobParams {
	return db.EnqueueJobParams{Kind: kind, Queue: "default", Payload: "{}", Status: "pending", MaxAttempts: 1}
}

// rows returns the number of jobs of a kind.
func rows(t *testing.T, client *jobs.Client, kind string) int {
	t.Helper()
	list, err := inspect.New(client).List(t.Context(), inspect.Filter{Kind: kind, Limit: 1000})
	must(t, err)
	return len(list)
}

// A backend that an operator ends before the commit has committed nothing, and the write is run again.
func testBackendEndsBeforeCommit(t *testing.T, site *site) {
	for _, test := range []struct {
		times int // number of times that it happens
		runs  int64
		fails bool
	}{{1, 2, false}, {3, 4, false}, {1000, reruns, true}} {
		t.Run(fmt.Sprintf("%d times", test.times), func(t *testing.T) {
			var ends, runs atomic.Int64
			var operator func()
			store, client, url := site.queue(t, beforeCommit(func() { operator() }))
			admin := dial(t, url)
			operator = func() {
				if ends.Add(1) <= int64(test.times) {
					want(t, "ended backends", scan[int](t, admin, "end_transactions"), 1)
				}
			}
			err := store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
				runs.Add(1)
				_, err := q.EnqueueJob(ctx, add("k"))
				return err
			})
			want(t, "runs", runs.Load(), test.runs)
			operator = func() {}
			if test.fails {
				if !errors.Is(err, jobs.ErrUnavailable) || errors.Is(err, jobs.ErrUnknownOutcome) {
					t.Errorf("the error is %v", err)
				}
				want(t, "rows", rows(t, client, "k"), 0)
				return
			}
			must(t, err)
			want(t, "rows", rows(t, client, "k"), 1)
		})
	}
}

// A connection that breaks around the commit leaves no doubt, however small the pool is.
func testConnectionBreaksAtCommit(t *testing.T, site *site) {
	for name, test := range map[string]struct {
		fate fate
		runs int64
	}{"before it": {cutBefore, 2}, "after it": {cutAfter, 1}, "silently after it": {hush, 1}} {
		t.Run(name, func(t *testing.T) {
			_, _, url := site.queue(t)
			p := newProxy(t, url)
			store, client := open(t, with(p.url(url), "pool_max_conns=1"), silentAfter(5*time.Second))
			must(t, client.CheckSchema(t.Context()))
			p.onCommit(func(number int) fate {
				if number == 1 {
					return test.fate
				}
				return pass
			}, func() {})
			var runs atomic.Int64
			must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
				runs.Add(1)
				_, err := q.EnqueueJob(ctx, add("k"))
				return err
			}))
			want(t, "runs", runs.Load(), test.runs)
			want(t, "rows", rows(t, client, "k"), 1)
			store.conns.lent.mu.Lock()
			defer store.conns.lent.mu.Unlock()
			want(t, "connections that are counted as lent", store.conns.lent.n, 0)
		})
	}
}

// Every connection of the pool breaks at once, each around its commit: all writes learn their outcomes.
func testAllConnectionsBreakAtCommit(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	const n = 4
	p := newProxy(t, url)
	_, client := open(t, with(p.url(url), fmt.Sprintf("pool_max_conns=%d", n)))
	var met sync.WaitGroup
	met.Add(n)
	p.onCommit(func(number int) fate {
		switch {
		case number > n:
			return pass
		case number%2 == 0:
			return cutBefore
		}
		return cutAfter
	}, func() {})
	store := client.Store().(*backend)
	errs := make(chan error, n)
	for range n {
		go func() {
			first := true
			errs <- store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
				if first {
					first = false
					met.Done()
					met.Wait()
				}
				_, err := q.EnqueueJob(ctx, add("k"))
				return err
			})
		}()
	}
	for range n {
		must(t, receive(t, "the end of a write", errs))
	}
	want(t, "rows", rows(t, client, "k"), n)
}

// The result of a write is true, whatever breaks at any time. The sorts of breaks are random, the truth is not.
func testAcknowledgementsAreTrue(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	p := newProxy(t, url)
	_, client := open(t, p.url(url))
	var cuts atomic.Int64
	each := 50
	if testing.Short() {
		each = 15
	}
	p.onCommit(func(int) fate { return []fate{pass, cutBefore, cutAfter}[rand.IntN(3)] }, func() { cuts.Add(1) })
	var all sync.WaitGroup
	var refused atomic.Int64
	for writer := range 4 {
		all.Go(func() {
			for i := range each {
				kind := fmt.Sprintf("k%d-%d", writer, i)
				_, err := client.Enqueue(t.Context(), kind, []byte("{}"))
				switch have := rows(t, client, kind); {
				case err == nil && have == 1:
				case err != nil && !errors.Is(err, jobs.ErrUnknownOutcome) && have == 0:
					refused.Add(1)
				default:
					t.Errorf("%s: %d rows, and the answer %v", kind, have, err)
				}
			}
		})
	}
	all.Wait()
	if cuts.Load() == 0 {
		t.Error("nothing was cut")
	}
	t.Logf("%d connections were cut, %d enqueues refused", cuts.Load(), refused.Load())
}

// While the server stays away the outcome of a commit is unknown; when the server comes back in time, it reports the outcome.
func TestServerAwayAtCommit(t *testing.T) {
	t.Parallel()
	cluster := testdb.StartCluster(t, map[string]string{"synchronous_commit": "on"})
	site := newSite(t, cluster.Postgres)
	for name, test := range map[string]struct {
		fate      fate
		mode      string
		committed int
	}{
		"committed, crash":     {cutAfter, "immediate", 1},
		"committed, stop":      {cutAfter, "fast", 1},
		"not committed, crash": {cutBefore, "immediate", 0},
		"not committed, stop":  {cutBefore, "fast", 0},
	} {
		for _, comes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, comes back: %t", name, comes), func(t *testing.T) {
				_, _, url := site.queue(t)
				asking := 50 * time.Millisecond
				if comes {
					asking = hang
				}
				p := newProxy(t, url)
				store, client := open(t, p.url(url), askingFor(asking))
				must(t, client.CheckSchema(t.Context()))
				stopped := make(chan struct{})
				p.onCommit(func(number int) fate {
					if number == 1 {
						return test.fate
					}
					return pass
				}, func() {
					p.leave() // the store must not ask for the outcome before the server is down
					close(stopped)
				})
				written := make(chan error, 1)
				go func() {
					written <- store.Write(context.Background(), func(ctx context.Context, q db.Querier) error {
						_, err := q.EnqueueJob(ctx, add("k"))
						return err
					})
				}()
				receive(t, "the cut", stopped)
				cluster.Stop(t, test.mode)
				if comes {
					cluster.Start(t)
					p.comeBack()
					err := receive(t, "the answer", written)
					rows := rows(t, client, "k")
					// After a crash a commit that the server knows may be another's: it has assigned the number again.
					if err == nil && rows != 1 || err != nil && !errors.Is(err, jobs.ErrUnknownOutcome) && rows != 0 {
						t.Errorf("%d rows, and the answer %v", rows, err)
					}
					if err != nil && (test.mode != "immediate" || test.committed == 0) {
						t.Errorf("the answer is %v", err)
					}
					return
				}
				err := receive(t, "the answer", written)
				if !errors.Is(err, jobs.ErrUnknownOutcome) || !store.CanRetry(err) {
					t.Errorf("the answer is %v", err)
				}
				cluster.Start(t)
				p.comeBack()
				want(t, "rows", rows(t, client, "k"), test.committed)
			})
		}
	}
}

// A server that crashed assigns again transaction numbers that it had not written to disk. Another's commit under our
// number is not ours.
func TestNumberOfATransactionGivenAnew(t *testing.T) {
	t.Parallel()
	cluster := testdb.StartCluster(t, map[string]string{
		"synchronous_commit": "on", "autovacuum": "off", "wal_writer_delay": "10s", "bgwriter_delay": "10s",
	})
	var crash func()
	store, client, url := newSite(t, cluster.Postgres).queue(t, beforeCommit(func() { crash() }))
	must(t, client.CheckSchema(t.Context()))
	number := scan[int64](t, dial(t, url), "transaction_id")
	crash = func() {
		cluster.Stop(t, "immediate")
		cluster.Start(t)
		for conn := dial(t, url); scan[int64](t, conn, "transaction_id") <= number+1; {
		}
		crash = func() {}
	}
	var runs int
	err := store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		runs++
		_, err := q.EnqueueJob(ctx, add("k"))
		return err
	})
	if have := rows(t, client, "k"); err == nil && have != 1 {
		t.Errorf("after %d runs the write was acknowledged, and there are %d rows", runs, have)
	} else if err != nil && !errors.Is(err, jobs.ErrUnknownOutcome) {
		t.Errorf("the answer is %v", err)
	}
}

// A connection belongs to the life of the server in which it was made. When a person resets the statistics that identify the server's life,
// the outcome of a commit lost by the connection is unknown; the next connection knows the life again.
func TestStatisticsSetBack(t *testing.T) {
	t.Parallel()
	cluster := testdb.StartCluster(t, nil)
	_, _, url := newSite(t, cluster.Postgres).queue(t)
	p := newProxy(t, url)
	store, client := open(t, with(p.url(url), "pool_max_conns=1"))
	add := func() error {
		return store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			_, err := q.EnqueueJob(ctx, add("k"))
			return err
		})
	}
	for range 3 { // by then the connection has prepared everything
		must(t, add())
	}
	scan[string](t, dial(t, url), "set_statistics_back")
	for _, unknown := range []bool{true, false} {
		p.onCommit(func(number int) fate {
			if number == 1 {
				return cutAfter
			}
			return pass
		}, func() {})
		if err := add(); errors.Is(err, jobs.ErrUnknownOutcome) != unknown || !unknown && err != nil {
			t.Errorf("the answer is %v", err)
		}
	}
	want(t, "rows", rows(t, client, "k"), 5)
}

// A transaction that the server rolled back, although it accepted the COMMIT, was not committed.
func testCommitOfAFailedTransaction(t *testing.T, site *site) {
	store, client, _ := site.queue(t)
	for _, first := range []string{"nothing", "a job, and its notification"} {
		err := store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			if first != "nothing" {
				if _, err := q.EnqueueJob(ctx, add("k")); err != nil {
					return err
				}
			}
			bad := add("k")
			bad.Payload = "no JSON"
			if _, err := q.EnqueueJob(ctx, bad); err == nil {
				t.Error("the bad payload is taken")
			}
			return nil // against the rule
		})
		if err == nil || errors.Is(err, jobs.ErrUnknownOutcome) {
			t.Errorf("with %s before it, the answer is %v", first, err)
		}
	}
	want(t, "rows", rows(t, client, "k"), 0)
}
