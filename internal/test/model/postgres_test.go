package model

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

func openPostgres(t *testing.T, c *clock) *engine {
	pool, err := pgxpool.New(t.Context(), testdb.StartPostgres(t).Database(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	// A store remembers the duration and the jobs of its claims; on a slow server that changes its next checks.
	e := &engine{name: "PostgreSQL", clock: c, another: true}
	e.open = func(context.Context) (jobs.Store, error) { return postgres.New(pool) }
	e.begin(t)
	clearRows := statements(t, "clear_postgres.sql")
	plain := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() {
		if err := plain.Close(); err != nil {
			t.Error(err)
		}
	})
	e.begins = append(e.begins, sqlBegin(plain, postgres.SQLTx), func(ctx context.Context) (transaction, error) {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return nil, err
		}
		return postgresTx{postgres.Tx(tx), tx}, nil
	})
	e.clear = func(ctx context.Context) error {
		_, err := pool.Exec(ctx, clearRows)
		return err
	}
	// The server drops a lock after it has noticed that the connection is gone.
	e.unlocked = func(ctx context.Context, key string) error {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			state, done, err := e.store.WorkerLocks().TakeWorkerLock(ctx, key)
			if err != nil {
				return err
			}
			if state == port.LockTaken {
				done()
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	}
	return e
}

type postgresTx struct {
	jobs.Tx
	tx pgx.Tx
}

func (t postgresTx) Commit() error   { return t.tx.Commit(context.Background()) }
func (t postgresTx) Rollback() error { return t.tx.Rollback(context.Background()) }
