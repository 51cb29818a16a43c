// Package testdb makes databases for tests: SQLite files, and PostgreSQL from the server's own binaries. Everything
// that it makes is removed when the test ends. Only tests import it.
package testdb

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// SQLite returns a store on a fresh file with the newest schema. It is closed when the test ends.
func SQLite(tb testing.TB, opts ...sqlite.Option) *sqlite.Store {
	tb.Helper()
	store := OpenSQLite(tb, filepath.Join(tb.TempDir(), "jobs.db"), opts...)
	if _, err := engine.StoreOf(store).Migrations().Migrate(tb.Context()); err != nil {
		tb.Fatalf("migrate %s: %v", store.Path(), err)
	}
	return store
}

// OpenSQLite returns a store on a file, whatever its schema. It is closed when the test ends.
func OpenSQLite(tb testing.TB, path string, opts ...sqlite.Option) *sqlite.Store {
	tb.Helper()
	store, err := sqlite.Open(tb.Context(), path, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Errorf("close %s: %v", path, err)
		}
	})
	return store
}

// PlainSQLite returns a pool on a file as any other program would open it: no pragma but a busy timeout.
func PlainSQLite(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	// A test's folder may have characters in its name that mean something in a URL, such as # of a second run.
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "_txlock=immediate&_pragma=busy_timeout(5000)"}
	return open(tb, "sqlite", name.String())
}

func open(tb testing.TB, driver, name string) *sql.DB {
	tb.Helper()
	pool, err := sql.Open(driver, name)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := pool.Close(); err != nil {
			tb.Errorf("close the pool on %s: %v", name, err)
		}
	})
	return pool
}
