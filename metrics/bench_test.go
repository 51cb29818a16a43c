package metrics_test

import (
	"testing"

	"github.com/sqluice/sqluice/internal/test/costs"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
	"github.com/sqluice/sqluice/metrics"
)

// BenchmarkQueue is the benchmark of package jobs/sqlite with all metrics: the difference is the cost of the metrics.
func BenchmarkQueue(b *testing.B) {
	costs.Benchmark(b, func(b *testing.B) jobs.Store {
		return testdb.SQLite(b, sqlite.WithObserver(metrics.New().Observer()))
	})
}
