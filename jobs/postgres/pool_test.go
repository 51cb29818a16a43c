package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var poolTests = []engineTest{
	{"PoolUsedUp", testPoolUsedUp},
	{"PoolUsedUpAtADeadline", testPoolUsedUpAtADeadline},
	{"PruneOnTheCallersConnection", testPruneOnTheCallersConnection},
	{"AllConnectionsEnd", testAllConnectionsEnd},
	{"SeldomAsked", testConnectionsAreSeldomAsked},
}

// useUp takes all connections of a store's pool.
func useUp(t *testing.T, store *backend) (release func()) {
	t.Helper()
	var held []*pgxpool.Conn
	for range store.conns.pool.Config().MaxConns {
		conn, err := store.conns.pool.Acquire(t.Context())
		must(t, err)
		held = append(held, conn)
	}
	return func() {
		for _, conn := range held {
			conn.Release()
		}
	}
}

// A caller that gets no connection of the pool gets an error with the pool's size, after the time of one attempt and not
// after many times that.
func testPoolUsedUp(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	id := enqueue(t, client, "k")
	for name, call := range map[string]func(context.Context, *backend) error{
		"a read":  func(ctx context.Context, s *backend) error { _, err := jobs.New(s).Get(ctx, id); return err },
		"a write": func(ctx context.Context, s *backend) error { return jobs.New(s).Delete(ctx, id) },
		"a look at the schema": func(ctx context.Context, s *backend) error {
			return jobs.New(s).CheckSchema(ctx)
		},
		"a look at locks": func(ctx context.Context, s *backend) error {
			_, err := s.WorkerLocks().FreeWorkerLocks(ctx, []string{"1"})
			return err
		},
		"a move's wait": func(ctx context.Context, s *backend) error { return s.Upkeep().Settle(ctx) },
	} {
		for _, first := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				store, client := open(t, with(url, "pool_max_conns=2"), silentAfter(time.Second))
				if !first {
					must(t, client.CheckSchema(t.Context()))
				}
				release := useUp(t, store)
				before := store.conns.pool.Stat().CanceledAcquireCount()
				err := call(context.Background(), store)
				want(t, "waits for a connection", store.conns.pool.Stat().CanceledAcquireCount()-before, 1)
				if !errors.Is(err, jobs.ErrUnavailable) || !store.CanRetry(err) || !strings.Contains(err.Error(), "all 2 were in use") {
					t.Errorf("the error is %v", err)
				}
				release()
				must(t, client.CheckSchema(t.Context()))
			})
		}
	}
}

// A caller's own deadline ends the wait, and the error says what was waited for.
func testPoolUsedUpAtADeadline(t *testing.T, site *site) {
	store, client, _ := site.queue(t)
	must(t, client.CheckSchema(t.Context()))
	release := useUp(t, store)
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := client.Enqueue(ctx, "k", []byte("{}"))
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jobs.ErrUnavailable) || !strings.Contains(err.Error(), "of the pool are in use") {
		t.Errorf("the error is %v", err)
	}
}

// Pruning inside a caller's transaction sees that transaction's state, and needs no other connection, which may not exist.
func testPruneOnTheCallersConnection(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	id := enqueue(t, client, "k")
	drain(t, client, jobs.Config{}, handlers{"k": nothing})
	pool, err := pgxpool.New(t.Context(), with(url, "pool_max_conns=1"))
	must(t, err)
	t.Cleanup(pool.Close)
	store, err := newBackend(pool, silentAfter(time.Second))
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	must(t, jobs.New(store).CheckSchema(t.Context()))
	tx, err := pool.Begin(t.Context())
	must(t, err)
	n, err := inspect.New(jobs.New(store).With(Tx(tx))).Prune(t.Context(), jobs.StatusDone, 0)
	if err != nil || n != 1 {
		t.Errorf("%d jobs were pruned: %v", n, err)
	}
	must(t, tx.Commit(t.Context()))
	if _, err := client.Get(t.Context(), id); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("the pruned job is there: %v", err)
	}
}

// When all connections of a large pool have ended, as after a restart of the server, a call does not try them one by one until
// it gives up.
func testAllConnectionsEnd(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	id := enqueue(t, client, "k")
	store, own := open(t, with(url, "pool_max_conns=12"))
	must(t, own.CheckSchema(t.Context()))
	admin := dial(t, url)
	for what, call := range map[string]func() error{
		"a read":          func() error { _, err := own.Get(t.Context(), id); return err },
		"a write":         func() error { _, err := own.Enqueue(t.Context(), "k", []byte("{}")); return err },
		"an own look":     func() error { return own.CheckSchema(t.Context()) },
		"a look at locks": func() error { _, err := store.WorkerLocks().FreeWorkerLocks(t.Context(), []string{"1"}); return err },
	} {
		useUp(t, store)()
		if ended := scan[int](t, admin, "end_others"); ended < 12 {
			t.Fatalf("%d connections were ended", ended)
		}
		if err := call(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A connection that was used some seconds ago is not checked before use.
func testConnectionsAreSeldomAsked(t *testing.T, site *site) {
	store, _, _ := site.queue(t)
	conn, err := store.conns.pool.Acquire(t.Context())
	must(t, err)
	defer conn.Release()
	for _, c := range []struct {
		rest   time.Duration
		asked  bool
		within time.Duration // time limit of the first statement
	}{{restedAfter, false, 0}, {restedAfter + 1, false, promptly}, {pingAfter, false, promptly}, {pingAfter + 1, true, 0}} {
		asked := store.conns.pool.Config().ShouldPing(t.Context(), pgxpool.ShouldPingParams{Conn: conn.Conn(), IdleDuration: c.rest})
		w := store.conns.watchPrompt(t.Context(), &lentConn{poolConn: conn})
		want(t, "asked after "+c.rest.String(), asked, c.asked)
		want(t, "the time for the first statement", w.first, c.within)
		w.extend()
		want(t, "that for the second", w.first, 0)
		must(t, w.end(nil))
	}
}
