//go:build unix

package crashtest

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// onEachEngine runs a test on an empty queue of each engine. Processes open it by address.
func onEachEngine(t *testing.T, test func(t *testing.T, address string, client *jobs.Client)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		path, client := sqliteQueue(t)
		test(t, path, client)
	})
	t.Run("postgres", func(t *testing.T) {
		address, client := postgresQueue(t, testdb.StartPostgres(t))
		test(t, address, client)
	})
}

// sqliteQueue makes a migrated database in a folder of the test.
func sqliteQueue(t *testing.T) (path string, client *jobs.Client) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "jobs.db")
	store, err := sqlite.Open(t.Context(), path)
	must(t, err)
	return path, migrated(t, store)
}

// postgresQueue makes a migrated database on a server.
func postgresQueue(t *testing.T, server *testdb.Postgres) (address string, client *jobs.Client) {
	t.Helper()
	address = server.Database(t)
	store, err := role{DB: address}.open(t.Context())
	must(t, err)
	return address, migrated(t, store)
}

func migrated(t *testing.T, store jobs.Store) *jobs.Client {
	t.Helper()
	t.Cleanup(func() { must(t, store.Close()) })
	client := jobs.New(store)
	_, err := client.Migrate(t.Context())
	must(t, err)
	return client
}

// betweenWrites runs fn while no process is in the middle of a write on a SQLite file: a process that is stopped there
// keeps the file locked, which nothing can undo. (A PostgreSQL server ends such a transaction after a while.)
func betweenWrites(t *testing.T, address string, fn func()) {
	t.Helper()
	if (role{DB: address}).onPostgres() {
		fn()
		return
	}
	tx, err := testdb.PlainSQLite(t, address).BeginTx(t.Context(), nil)
	must(t, err)
	fn()
	must(t, tx.Rollback())
}

func (r role) onPostgres() bool { return strings.HasPrefix(r.DB, "postgres://") }

// open opens the process's database, which must be there.
func (r role) open(ctx context.Context, observers ...*jobs.Observer) (jobs.Store, error) {
	observer := jobs.Observers(observers...)
	if !r.onPostgres() {
		return sqlite.Open(ctx, r.DB, sqlite.MustExist(), sqlite.WithObserver(observer))
	}
	address, err := url.Parse(r.DB)
	if err != nil {
		return nil, err
	}
	// The default grows with the processors, and a server takes 100 connections.
	query := address.Query()
	query.Set("pool_max_conns", "4")
	address.RawQuery = query.Encode()
	if r.Poll == "" {
		return postgres.Open(ctx, address.String(), postgres.WithObserver(observer))
	}
	poll, err := time.ParseDuration(r.Poll)
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx, address.String(), postgres.WithPoll(poll), postgres.WithObserver(observer))
}
