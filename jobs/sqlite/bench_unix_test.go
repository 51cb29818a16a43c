//go:build unix

package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/sqluice/sqluice/internal/test/costs"
	"github.com/sqluice/sqluice/jobs"
)

func BenchmarkManyQueues(b *testing.B) {
	costs.BenchmarkManyQueues(b, func(b *testing.B) (runner, other jobs.Store) {
		path := filepath.Join(b.TempDir(), "jobs.db")
		return benchStore(b, path), benchStore(b, path)
	})
}
