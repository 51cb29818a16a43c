package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

var laterTests = []engineTest{
	{"GoesWithTheNext", testLaterGoesWithTheNext},
	{"Fails", testLaterFails},
}

// write runs fn after a statement that begins the transaction.
func write(t *testing.T, store *Store, fn func(context.Context, db.Querier) error) error {
	t.Helper()
	return store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		if _, err := q.GetNextRunAfter(ctx); err != nil {
			return err
		}
		return fn(ctx, q)
	})
}

func note(ctx context.Context, q db.Querier, items string) error {
	return q.AddJobChanges(ctx, db.AddJobChangesParams{At: 1, Items: items})
}

const oneDone = `[["q", "k", "done", 1, 1]]`

// noted is a store with one connection, which has the statement prepared that is deferred from then on.
func noted(t *testing.T, site *site) (*Store, *jobs.Client) {
	t.Helper()
	store, client := open(t, with(site.server.Copy(t, site.template), "pool_max_conns=1"))
	must(t, write(t, store, func(ctx context.Context, q db.Querier) error { return note(ctx, q, oneDone) }))
	return store, client
}

// What is deferred has happened when the next statement runs, be that prepared or not.
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
			notes, err := q.TakeJobChanges(ctx, 10)
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
				if _, err := q.PauseQueue(ctx, db.PauseQueueParams{Name: "q", Now: 1}); err != nil {
					return err
				}
				if err := note(ctx, q, "["); err != nil {
					t.Errorf("what is deferred gives %v", err)
				}
				if !next {
					return nil
				}
				_, err := q.TakeJobChanges(ctx, 10)
				if err == nil {
					t.Error("the statement after it gives no error")
				}
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "json") {
				t.Errorf("the write gives %v", err)
			}
			queues, err := client.Queues(t.Context())
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
