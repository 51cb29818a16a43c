package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/sqluice/sqluice/internal/test/costs"
	"github.com/sqluice/sqluice/jobs"
)

func BenchmarkQueue(b *testing.B) {
	costs.Benchmark(b, func(b *testing.B) jobs.Store { return benchStore(b, filepath.Join(b.TempDir(), "jobs.db")) })
}

// BenchmarkStatements measures the statements that a reader of the SQL meets first.
func BenchmarkStatements(b *testing.B) {
	costs.BenchmarkStatements(b, func(b *testing.B) jobs.Store { return benchStore(b, filepath.Join(b.TempDir(), "jobs.db")) })
}

// benchStore opens a database for a benchmark.
func benchStore(b *testing.B, path string) jobs.Store {
	b.Helper()
	store, err := openBackend(b.Context(), path)
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
