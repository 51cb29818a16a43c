package model

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

func openSQLite(t *testing.T, c *clock) *engine {
	path := filepath.Join(t.TempDir(), "jobs.db")
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jobs.New(store).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	pool, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=synchronous(off)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	clearRows := statements(t, "clear_sqlite.sql")
	e := newEngine("SQLite", store, c)
	e.begins = append(e.begins, sqlBegin(pool, sqlite.Tx))
	e.clear = func(ctx context.Context) error {
		_, err := pool.ExecContext(ctx, clearRows)
		return err
	}
	return e
}
