package fuzz

import (
	"context"
	"errors"
	"testing"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// engine is a queue of one engine.
type engine struct {
	name   string
	client *jobs.Client
}

// engines are SQLite and PostgreSQL. Without a server the target is skipped, as all tests of that engine are.
func engines(f *testing.F) []engine {
	f.Helper()
	server := testdb.StartPostgres(f)
	store, err := postgres.Open(f.Context(), server.Database(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := store.Close(); err != nil {
			f.Error(err)
		}
	})
	if _, err := port.StoreOf(store).Migrations().Migrate(f.Context()); err != nil {
		f.Fatal(err)
	}
	return []engine{{"SQLite", jobs.New(testdb.SQLite(f))}, {"PostgreSQL", jobs.New(store)}}
}

// refused reports whether an input was refused in the documented way. Any other error is a fault.
func refused(t *testing.T, e engine, what string, err error) bool {
	t.Helper()
	var invalid *jobs.InvalidError
	if err != nil && !errors.As(err, &invalid) {
		t.Fatalf("%s: %s: %v", e.name, what, err)
	}
	return err != nil
}

// remove deletes jobs, so that a target's queue stays small.
func remove(t *testing.T, e engine, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		if err := e.client.Delete(context.Background(), id); err != nil {
			t.Errorf("%s: delete job %d: %v", e.name, id, err)
		}
	}
}
