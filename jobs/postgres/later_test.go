package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var laterTests = []engineTest{
	{"GoesWithTheNext", testLaterGoesWithTheNext},
	{"Fails", testLaterFails},
	{"FirstTime", testLaterFirstTime},
	{"KeepsTheConnection", testLaterKeepsTheConnection},
	{"WithAContext", testLaterWithAContext},
}

// write runs fn as the last part of an exchange, after a statement that begins the transaction.
func write(t *testing.T, store *backend, fn func(context.Context, db.Querier) error) error {
	t.Helper()
	return store.Exchange(t.Context(), &engine.Exchange{
		Begin: func() {},
		Judge: func(ctx context.Context, q db.Querier) error {
			_, err := q.GetNextRunAfter(ctx)
			return err
		},
		Note: fn,
	})
}

func note(ctx context.Context, q db.Querier, items string) error {
	return q.AddJobChanges(ctx, db.AddJobChangesParams{At: 0, Items: items})
}

const oneDone = `[["q", "k", "done", 1, 1]]`

// noted returns a store with one connection, on which the statement to defer is prepared.
func noted(t *testing.T, site *site) (*backend, *jobs.Client) {
	t.Helper()
	store, client := open(t, with(site.server.Copy(t, site.template), "pool_max_conns=1"))
	must(t, write(t, store, func(ctx context.Context, q db.Querier) error { return note(ctx, q, oneDone) }))
	return store, client
}

// A deferred statement has run when the next statement runs, whether or not that is prepared.
func testLaterGoesWithTheNext(t *testing.T, site *site) {
	store, _ := noted(t, site)
	had := 1
	for range 2 {
		must(t, write(t, store, func(ctx context.Context, q db.Querier) error {
			if err := note(ctx, q, oneDone); err != nil {
				return err
			}
			if err := note(ctx, q, oneDone); err != nil {
				return err
			}
			notes, err := q.TakeJobChanges(ctx, db.TakeJobChangesParams{N: 10})
			want(t, "notes", len(notes), had+2)
			return err
		}))
		had = 0
	}
}

// A deferred statement that fails makes the next one fail, or the commit, and leaves nothing behind.
func testLaterFails(t *testing.T, site *site) {
	for _, next := range []bool{true, false} {
		t.Run(fmt.Sprintf("next %t", next), func(t *testing.T) {
			store, client := noted(t, site)
			err := write(t, store, func(ctx context.Context, q db.Querier) error {
				if _, err := q.Pause(ctx, db.PauseParams{Queue: "q", Now: 0}); err != nil {
					return err
				}
				if err := note(ctx, q, "["); err != nil {
					t.Errorf("what is deferred gives %v", err)
				}
				if !next {
					return nil
				}
				_, err := q.TakeJobChanges(ctx, db.TakeJobChangesParams{N: 10})
				if err == nil {
					t.Error("the statement after it gives no error")
				}
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "json") {
				t.Errorf("the write gives %v", err)
			}
			queues, err := inspect.New(client).Queues(t.Context())
			must(t, err)
			for _, q := range queues {
				if !q.PausedAt.IsZero() {
					t.Errorf("queue %s is paused by a write that failed", q.Name)
				}
			}
			must(t, write(t, store, func(ctx context.Context, q db.Querier) error { return note(ctx, q, oneDone) }))
		})
	}
}

// pgx has the server prepare a statement that is new to the connection: not within the commit.
func testLaterFirstTime(t *testing.T, site *site) {
	store, _, _ := site.queue(t)
	err := write(t, store, func(ctx context.Context, q db.Querier) error {
		err := note(ctx, q, "[")
		if err == nil {
			t.Error("what is not prepared yet is deferred")
		}
		return err
	})
	if err == nil {
		t.Error("the write gives no error")
	}
}

func testLaterKeepsTheConnection(t *testing.T, site *site) {
	store, _ := noted(t, site)
	before := store.conns.pool.Stat().NewConnsCount()
	for range 3 {
		if err := write(t, store, func(ctx context.Context, q db.Querier) error { return note(ctx, q, "[") }); err == nil {
			t.Error("the write gives no error")
		}
	}
	want(t, "new connections", store.conns.pool.Stat().NewConnsCount()-before, 0)
}

// The end of a context ends a write up to its commit, so nothing is deferred to the commit.
func testLaterWithAContext(t *testing.T, site *site) {
	store, _ := noted(t, site)
	_ = store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		err := note(ctx, q, "[")
		if err == nil {
			t.Error("it is deferred")
		}
		return err
	})
}
