package sql_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// An application's own migrations have numbers of their own, in goose's usual table.
var applicationMigrations = fstest.MapFS{
	"00001_orders.sql": {Data: []byte("-- +goose Up\nCREATE TABLE orders (id BIGINT PRIMARY KEY, item TEXT NOT NULL);\n-- +goose Down\nDROP TABLE orders;\n")},
	"00009_paid.sql":   {Data: []byte("-- +goose Up\nALTER TABLE orders ADD COLUMN paid BIGINT;\n-- +goose Down\nALTER TABLE orders DROP COLUMN paid;\n")},
}

func applicationGoose(t *testing.T, dialect goose.Dialect, pool *sql.DB) *goose.Provider {
	t.Helper()
	provider, err := goose.NewProvider(dialect, pool, applicationMigrations, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	return provider
}

func TestMigrationsLiveBesideAnApplicationsOwn(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool := e.empty(t)
		application, queue := applicationGoose(t, e.dialect, pool), testdb.Goose(t, e.dialect, pool)
		check := func(wantApplication, wantQueue int64) {
			t.Helper()
			for table, want := range map[string]int64{goose.DefaultTablename: wantApplication, testdb.VersionTable: wantQueue} {
				if have := scan[int64](t, pool, "SELECT COALESCE(MAX(version_id), 0) FROM "+table); have != want {
					t.Errorf("%s says version %d, want %d", table, have, want)
				}
			}
		}
		migrateTo(t, application, 1)
		mustExec(t, pool, `INSERT INTO orders (id, item) VALUES (1, 'tea')`)
		migrateTo(t, queue, newest(queue))
		check(1, newest(queue))
		migrateTo(t, application, 9)
		check(9, newest(queue))
		mustExec(t, pool, `INSERT INTO sqluice_jobs (kind) VALUES ('ship')`)
		migrateTo(t, application, 1)
		migrateTo(t, queue, 0)
		check(1, 0)
		if item := scan[string](t, pool, `SELECT item FROM orders WHERE id = 1`); item != "tea" {
			t.Errorf("the application's row is %q", item)
		}
	})
}

// The library on an application's existing file, through the application's pool and in its transaction.
func TestQueueInAnApplicationsDatabase(t *testing.T) {
	ctx := t.Context()
	pool := testdb.PlainSQLite(t, filepath.Join(t.TempDir(), "shop.db"))
	migrateTo(t, applicationGoose(t, goose.DialectSQLite3, pool), 9)
	mustExec(t, pool, `INSERT INTO orders (id, item) VALUES (1, 'tea')`)

	store, err := sqlite.New(ctx, pool)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	client := jobs.New(store)
	var schema *jobs.SchemaError
	if _, err := client.Enqueue(ctx, "ship", []byte(`{}`)); !errors.As(err, &schema) || schema.Have != 0 {
		t.Errorf("an enqueue into a database without the queue's schema says %v", err)
	}
	if _, err := client.Migrate(ctx); err != nil {
		t.Fatal(err)
	}

	order := func(commit bool, id int64) int64 {
		t.Helper()
		tx, err := pool.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO orders (id, item) VALUES (?, 'cake')`, id); err != nil {
			t.Fatal(err)
		}
		receipt, err := client.With(sqlite.Tx(tx)).Enqueue(ctx, "ship", []byte(`{"order":2}`))
		if err != nil {
			t.Fatal(err)
		}
		end := tx.Rollback
		if commit {
			end = tx.Commit
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		return receipt.ID
	}
	order(false, 2)
	kept := order(true, 3)
	list, err := inspect.New(client).List(ctx, inspect.Filter{})
	if err != nil || len(list) != 1 || list[0].ID != kept {
		t.Errorf("after a rollback and a commit there are the jobs %v, want only %d: %v", list, kept, err)
	}
	if n := scan[int64](t, pool, `SELECT COUNT(*) FROM orders`); n != 2 {
		t.Errorf("%d orders, want 2", n)
	}
}
