package postgres

import (
	"log/slog"
	"testing"

	"github.com/sqluice/sqluice/internal/test/costs"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// The temporary server does not flush to the disk, so that the queue's own cost shows; the server of
// SQLUICE_TEST_POSTGRES flushes as it is configured.
func BenchmarkQueue(b *testing.B) {
	server := testdb.StartPostgres(b)
	costs.Benchmark(b, func(b *testing.B) jobs.Store { return benchStore(b, server.Database(b)) })
}

// BenchmarkStatements measures the statements that a reader of the SQL meets first, round trips included.
func BenchmarkStatements(b *testing.B) {
	server := testdb.StartPostgres(b)
	costs.BenchmarkStatements(b, func(b *testing.B) jobs.Store { return benchStore(b, server.Database(b)) })
}

// benchStore opens a database for a benchmark.
func benchStore(b *testing.B, url string) jobs.Store {
	b.Helper()
	store, err := openBackend(b.Context(), url, WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	if _, err := store.Migrations().Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	return store
}
