package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// A program that adds jobs and reads by the writer's connection has no other one. During a transaction there, or another such read,
// nothing waits: the caller must read elsewhere.
func TestReadByTheWriter(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "jobs.db")
	store, err := openBackend(ctx, path)
	must(t, err)
	read := func() (bool, error) {
		return engine.ReadByWriter(ctx, store, func(ctx context.Context, q db.Querier) error {
			_, err := q.GetJob(ctx, 1)
			return err
		})
	}
	if done, err := read(); !done || !errors.As(err, new(*jobs.SchemaError)) {
		t.Errorf("without the tables a read is done: %v, with the error %v", done, err)
	}
	_, err = store.Migrations().Migrate(ctx)
	must(t, err)
	must(t, store.Close())
	store, err = openBackend(ctx, path)
	must(t, err)
	_, err = store.Insert(ctx, engine.Insert{Job: keyless("k", "1")})
	must(t, err)
	if done, err := read(); !done || err != nil {
		t.Errorf("a read is done: %v, with the error %v", done, err)
	}
	if n := store.pools.readDB.Stats().OpenConnections + store.pools.inspectDB.Stats().OpenConnections; n != 0 {
		t.Errorf("%d more connections are open", n)
	}
	beside := func(context.Context, db.Querier) error {
		if done, err := read(); done {
			t.Errorf("a read beside another use of the connection is done, with the error %v", err)
		}
		return nil
	}
	must(t, store.Write(ctx, beside))
	_, err = engine.ReadByWriter(ctx, store, beside)
	must(t, err)
	must(t, store.Close())
	if done, err := read(); !done || !errors.Is(err, jobs.ErrClosed) {
		t.Errorf("after Close a read is done: %v, with the error %v", done, err)
	}
}

// A function that reads by the writer's connection, and uses the store itself, gets an error: it would wait for its own end.
func TestNothingIsDoneInAReadByTheWriter(t *testing.T) {
	store, _ := queue(t)
	nothing := func(context.Context, db.Querier) error { return nil }
	for name, use := range map[string]func(context.Context, engine.Func) error{
		"Write": store.Write,
		"Read":  store.Read,
		"ReadByWriter": func(ctx context.Context, fn engine.Func) error {
			_, err := engine.ReadByWriter(ctx, store, fn)
			return err
		},
	} {
		done, err := engine.ReadByWriter(t.Context(), store, func(ctx context.Context, _ db.Querier) error { return use(ctx, nothing) })
		if !done || !errors.Is(err, errInRead) {
			t.Errorf("%s in a read is done: %v, with the error %v", name, done, err)
		}
	}
	must(t, store.Write(t.Context(), nothing))
}

// While Close waits for a read by the writer's connection, other calls return that the store is closed.
func TestCloseBesideAReadByTheWriter(t *testing.T) {
	store, _ := queue(t)
	closed := make(chan error)
	done, err := engine.ReadByWriter(t.Context(), store, func(context.Context, db.Querier) error {
		go func() { closed <- store.Close() }()
		for forgotten := false; !forgotten; runtime.Gosched() {
			store.pools.mu.RLock()
			forgotten = store.pools.reads == nil
			store.pools.mu.RUnlock()
		}
		return store.Read(t.Context(), func(context.Context, db.Querier) error { return nil })
	})
	if !done || !errors.Is(err, jobs.ErrClosed) {
		t.Errorf("the read is done: %v, with the error %v", done, err)
	}
	must(t, <-closed)
}
