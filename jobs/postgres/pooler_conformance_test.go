package postgres_test

import (
	"testing"

	"github.com/sqluice/sqluice/internal/test/conformance"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// The whole suite, including tests of locks, passes behind a pooler, when a worker's two separate connections lead to
// the server.
func TestConformanceBehindPgBouncer(t *testing.T) {
	if testing.Short() {
		t.Skip("as long as TestConformance: the long form runs it")
	}
	t.Parallel()
	server := testdb.StartPostgres(t)
	pooler := testdb.StartPgBouncer(t, server.URL(), nil)
	conformance.Run(t, newWarmDatabases(t, server, func(url string) (string, string, []postgres.Option) {
		pooled := pooler.URL(url)
		// The application's own pool must not prepare statements either.
		return pooled + "&pgbouncer=true", pooled + "&pool_max_conns=4&default_query_exec_mode=exec", []postgres.Option{postgres.WithSession(url)}
	}).Open)
}
