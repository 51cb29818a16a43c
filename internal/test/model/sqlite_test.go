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
	e := &engine{name: "SQLite", clock: c}
	e.open = func(ctx context.Context) (jobs.Store, error) { return sqlite.Open(ctx, path) }
	e.begin(t)
	pool, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=synchronous(off)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	clearRows := statements(t, "clear_sqlite.sql")
	e.begins = append(e.begins, sqlBegin(pool, sqlite.Tx))
	e.clear = func(ctx context.Context) error {
		_, err := pool.ExecContext(ctx, clearRows)
		return err
	}
	return e
}
