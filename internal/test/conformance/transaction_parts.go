package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// afterStatement is a store that calls a function after each statement in a caller's transaction.
type afterStatement struct {
	engine.Store
	hook func(name string, took time.Duration, err error)
}

func (s afterStatement) Transactions() engine.Transactions {
	return hookedTransactions{s.Store.Transactions(), s.hook}
}

type hookedTransactions struct {
	engine.Transactions
	hook func(name string, took time.Duration, err error)
}

func (t hookedTransactions) Join(tx jobs.Tx) (db.Querier, error) {
	q, err := t.Transactions.Join(tx)
	if err != nil {
		return nil, err
	}
	return db.Timed(q, t.hook), nil
}

// A change in a caller's transaction that fails half-way leaves no part of it there, so that the caller can continue
// and commit. Otherwise the counts and the audit would miss the changes. Here its context ends after each of its
// statements in turn.
func testFailedChanges(f *fixture) {
	var ids []int64
	for range 3 {
		ids = append(ids, f.enqueue("k"))
	}
	failed := f.enqueue("fails", jobs.MaxAttempts(1))
	f.drain(jobs.Config{}, on("fails", func(context.Context, jobs.Job) error { return errors.New("broken") }))
	statements := 0
	var end func()
	observed := jobs.New(engine.SealStore(afterStatement{f.store, func(string, time.Duration, error) {
		if statements--; statements == 0 {
			end()
		}
	}}))
	for name, change := range map[string]func(ctx context.Context, c *jobs.Client) error{
		"a cancel": func(ctx context.Context, c *jobs.Client) error { _, err := c.Cancel(ctx, ids[0]); return err },
		"a cancel of many": func(ctx context.Context, c *jobs.Client) error {
			_, err := inspect.New(c).CancelMany(ctx, ids)
			return err
		},
		"a delete": func(ctx context.Context, c *jobs.Client) error { return c.Delete(ctx, ids[0]) },
		"a delete of many": func(ctx context.Context, c *jobs.Client) error {
			_, err := inspect.New(c).DeleteMany(ctx, ids)
			return err
		},
		"a retry": func(ctx context.Context, c *jobs.Client) error { return c.Retry(ctx, failed) },
		"a retry of many": func(ctx context.Context, c *jobs.Client) error {
			_, err := inspect.New(c).RetryMany(ctx, []int64{failed})
			return err
		},
		"a prune": func(ctx context.Context, c *jobs.Client) error {
			_, err := inspect.New(c).Prune(ctx, jobs.StatusFailed, 0)
			return err
		},
		"a pause": func(ctx context.Context, c *jobs.Client) error { _, err := c.PauseQueue(ctx, "q"); return err },
		"a rule of retention": func(ctx context.Context, c *jobs.Client) error {
			_, err := inspect.New(c).SetRetention(ctx, inspect.RetentionRule{Status: jobs.StatusDone, Keep: time.Hour})
			return err
		},
		"a pause of a kind": func(ctx context.Context, c *jobs.Client) error { _, err := c.PauseKind(ctx, "q", "k"); return err },
		"an enqueue": func(ctx context.Context, c *jobs.Client) error {
			_, err := c.Enqueue(ctx, "new", json.RawMessage("{}"))
			return err
		},
		"an enqueue of many": func(ctx context.Context, c *jobs.Client) error {
			_, err := c.EnqueueMany(ctx, "new", []json.RawMessage{json.RawMessage("1"), json.RawMessage("2")})
			return err
		},
	} {
		for n := 1; ; n++ {
			what := fmt.Sprintf("%s that ends after %d statements", name, n)
			tx, err := f.store.Begin(f.ctx)
			f.must(err)
			var ctx context.Context
			ctx, end = context.WithCancel(jobs.WithActor(f.ctx, "ann"))
			statements = n
			err = change(ctx, observed.With(tx))
			end()
			if err == nil { // it had no more statements
				f.must(tx.Rollback())
				want(f, what+": there was one to fail at", n > 1, true)
				break
			}
			if !errors.Is(err, context.Canceled) {
				f.Errorf("%s gives %v", what, err)
			}
			receipt, err := f.client.With(tx).Enqueue(f.ctx, "after", json.RawMessage("{}"))
			f.must(err)
			f.must(tx.Commit())
			f.must(f.client.Delete(f.ctx, receipt.ID))
			for _, id := range ids {
				want(f, "status after "+what, f.get(id).Status, jobs.StatusPending)
			}
			want(f, "status after "+what, f.get(failed).Status, jobs.StatusFailed)
			f.wantCounts()
			added, err := inspect.New(f.client).List(f.ctx, inspect.Filter{Kind: "new"})
			f.must(err)
			want(f, "jobs that were added by "+what, len(added), 0)
			queues, err := inspect.New(f.client).Queues(f.ctx)
			f.must(err)
			for _, q := range queues {
				want(f, "nothing is paused after "+what, q.PausedAt.IsZero() && q.PausedKinds == nil, true)
			}
			f.wantAudit()
			if f.Failed() {
				return
			}
		}
	}
}

// A change that finds the queue closed by a move, which it checks last, leaves no part either.
func testFailedChangeOfAMovedQueue(f *fixture) {
	id := f.enqueue("k")
	f.closeQueue()
	tx, err := f.store.Begin(f.ctx)
	f.must(err)
	_, err = inspect.New(f.client.With(tx)).CancelMany(f.as("ann"), []int64{id})
	f.wantMoved("a cancel in a transaction", err)
	f.must(tx.Commit())
	want(f, "status", f.get(id).Status, jobs.StatusPending)
	f.wantAudit()
	f.write(func(ctx context.Context, q db.Querier) error {
		_, err := q.OpenQueue(ctx, "t")
		return err
	})
	f.plain = false // these writes keep no counts
}
