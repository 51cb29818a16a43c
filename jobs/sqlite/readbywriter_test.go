package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// A program that adds jobs and reads by the writer's connection has no other one. While a transaction goes on there, or another such read,
// nothing waits: the caller is told to read elsewhere.
func TestReadByTheWriter(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "jobs.db")
	store, err := openBackend(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	read := func() (bool, error) {
		return engine.ReadByWriter(ctx, store, func(ctx context.Context, q db.Querier) error {
			_, err := q.GetJob(ctx, 1)
			return err
		})
	}
	if done, err := read(); !done || !errors.As(err, new(*jobs.SchemaError)) {
		t.Errorf("without the tables a read is done: %v, with the error %v", done, err)
	}
	if _, err := store.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if store, err = openBackend(ctx, path); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Insert(ctx, engine.Insert{Job: keyless("k", "1")}); err != nil {
		t.Fatal(err)
	}
	if done, err := read(); !done || err != nil {
		t.Errorf("a read is done: %v, with the error %v", done, err)
	}
	if n := store.readDB.Stats().OpenConnections + store.inspectDB.Stats().OpenConnections; n != 0 {
		t.Errorf("%d more connections are open", n)
	}
	for where, run := range map[string]func(context.Context, engine.Func) error{
		"a transaction": store.Write,
		"another read": func(ctx context.Context, fn engine.Func) error {
			_, err := engine.ReadByWriter(ctx, store, fn)
			return err
		},
	} {
		if err := run(ctx, func(context.Context, db.Querier) error {
			if done, err := read(); done {
				t.Errorf("a read in %s is done, with the error %v", where, err)
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if done, err := read(); !done || !errors.Is(err, jobs.ErrClosed) {
		t.Errorf("after Close a read is done: %v, with the error %v", done, err)
	}
}
