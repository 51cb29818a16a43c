package testdb_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/internal/test/testdb"
)

// one runs a statement on a separate connection and returns its value.
func one[T any](t *testing.T, url, statement string) (value T, err error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return value, err
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	// Behind a pooler nothing can be prepared.
	return value, conn.QueryRow(t.Context(), statement, pgx.QueryExecModeExec).Scan(&value)
}

func wantOne[T comparable](t *testing.T, url, statement string, want T) {
	t.Helper()
	if value, err := one[T](t, url, statement); err != nil || value != want {
		t.Errorf("%s gives %v, not %v: %v", statement, value, want, err)
	}
}

func TestClusterStopsAndStarts(t *testing.T) {
	cluster := testdb.StartCluster(t, map[string]string{"synchronous_commit": "on", "max_connections": "17"})
	wantOne(t, cluster.URL(), `SHOW max_connections`, "17")
	wantOne(t, cluster.URL(), `SHOW fsync`, "off")
	url := cluster.Database(t)
	if _, err := one[int](t, url, `CREATE TABLE kept (v int)`); err != pgx.ErrNoRows {
		t.Fatal(err)
	}
	for i, mode := range []string{"fast", "immediate", "immediate"} {
		if _, err := one[int](t, url, `INSERT INTO kept SELECT 1`); err != pgx.ErrNoRows {
			t.Fatal(err)
		}
		cluster.Stop(t, mode)
		if _, err := one[int](t, url, `SELECT 1`); err == nil {
			t.Errorf("the server still answers after its %s stop", mode)
		}
		cluster.Start(t)
		wantOne(t, url, `SELECT count(*)::int FROM kept`, i+1)
	}
	cluster.Database(t) // whether it could be dropped does not matter when the server is gone
	cluster.Stop(t, "fast")
}

func TestPgBouncerPoolsTransactions(t *testing.T) {
	server := testdb.StartPostgres(t)
	pooler := testdb.StartPgBouncer(t, server.URL(), map[string]string{"max_client_conn": "50"})
	direct := server.Database(t)
	url := pooler.URL(direct)
	name, err := one[string](t, direct, `SELECT current_database()`)
	if err != nil {
		t.Fatal(err)
	}
	wantOne(t, url, `SELECT current_database()`, name)

	// Two clients, one after the other, have one connection to the server.
	pid, err := one[int](t, url, `SELECT pg_backend_pid()`)
	if err != nil {
		t.Fatal(err)
	}
	wantOne(t, url, `SELECT pg_backend_pid()`, pid)

	client, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(t.Context())
	pooler.Restart(t)
	if err := client.Ping(t.Context()); err == nil {
		t.Error("a client's connection outlived the pooler")
	}
	wantOne(t, url, `SELECT current_database()`, name)
}
