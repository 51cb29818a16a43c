package testdb_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"testing"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
)

func TestPostgresIsEmptyAndGoneAtTheEnd(t *testing.T) {
	var address string
	t.Run("server", func(t *testing.T) {
		server := testdb.StartPostgres(t)
		address = server.Database(t)
		if address == server.Database(t) {
			t.Fatal("two databases have one name")
		}
		var tables int
		pool := server.Pool(t)
		if err := pool.QueryRow(`SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'`).Scan(&tables); err != nil {
			t.Fatal(err)
		}
		if tables != 0 {
			t.Errorf("a fresh database has %d tables", tables)
		}
	})
	if address == "" {
		t.Skip("there was no server")
	}
	pool, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := pool.Ping(); err == nil {
		t.Error("the database is still there after the test")
	}
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if dir := parsed.Query().Get("host"); dir != "" && os.Getenv(testdb.PostgresVariable) == "" {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the cluster's folder %s is still there: %v", dir, err)
		}
	}
}

func TestSQLiteIsReady(t *testing.T) {
	found, err := engine.StoreOf(testdb.SQLite(t)).Migrations().Schema(t.Context())
	if err != nil || found.Check() != nil || found.Have == 0 {
		t.Errorf("schema version %d, want %d: %v", found.Have, found.Want, err)
	}
}
