//go:build unix

package postgres

import (
	"testing"

	"github.com/sqluice/sqluice/internal/test/costs"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

func BenchmarkManyQueues(b *testing.B) {
	server := testdb.StartPostgres(b)
	costs.BenchmarkManyQueues(b, func(b *testing.B) (runner, other jobs.Store) {
		url := server.Database(b)
		return benchStore(b, url), benchStore(b, url)
	})
}
