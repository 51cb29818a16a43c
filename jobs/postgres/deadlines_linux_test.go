package postgres_test

import (
	"context"
	"os"
	"testing"

	"github.com/sqluice/sqluice/internal/test/conformance"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

func TestDeadlines(t *testing.T) {
	t.Parallel()
	cluster := testdb.StartCluster(t, nil)
	databases := migratedDatabases(t, cluster.Postgres)
	conformance.RunDeadlines(t, func(t *testing.T, _ ...*jobs.Observer) conformance.Store {
		return openForConformance(t, databases(t), postgres.WithObserver(nil))
	}, []conformance.Obstacle{{
		Name: "stopped server", Writes: true, Reads: true,
		Block: func(t *testing.T, _ conformance.Store) (release func()) { return cluster.Freeze(t) },
	}})
}

func TestDeadlinesOfALockedTable(t *testing.T) {
	t.Parallel()
	conformance.RunDeadlines(t, opener(t), []conformance.Obstacle{{Name: "locked table", Block: lockTable}})
}

// lockTable locks the table of jobs against all others, as a statement that changes the table does.
func lockTable(t *testing.T, store conformance.Store) (release func()) {
	lock, err := os.ReadFile("testdata/lock_jobs.sql")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := store.(engine).pool.Begin(context.Background())
	if err == nil {
		_, err = tx.Exec(t.Context(), string(lock))
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
