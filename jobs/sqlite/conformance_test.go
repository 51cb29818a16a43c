package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/conformance"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

func TestConformance(t *testing.T) { conformance.Run(t, opener(t)) }

func TestTriggersMeddleWithWhatIsHandedOver(t *testing.T) {
	conformance.RunMeddling(t, opener(t), func(ctx context.Context, store conformance.Store, text string) error {
		_, err := store.(engine).pool.ExecContext(ctx, text)
		return err
	})
}

func TestRulesOfTheApplicationRefuseSomeJobs(t *testing.T) {
	conformance.RunRefusals(t, opener(t), func(ctx context.Context, store conformance.Store, text string) error {
		_, err := store.(engine).pool.ExecContext(ctx, text)
		return err
	})
}

func TestClockThatFails(t *testing.T) {
	migrated := migratedFile(t)
	conformance.RunClock(t, func(t *testing.T, now func() time.Time) conformance.Store {
		path := filepath.Join(t.TempDir(), "jobs.db")
		if err := os.WriteFile(path, migrated, 0o600); err != nil {
			t.Fatal(err)
		}
		return openWith(t, path, sqlite.WithClock(now))
	})
}

// opener opens a migrated file for each test.
func opener(t *testing.T) conformance.Open {
	folder := t.TempDir()
	migrated := migratedFile(t)
	return func(t *testing.T, observers ...*jobs.Observer) conformance.Store {
		// Calls of one test open one file.
		path := filepath.Join(folder, strings.ReplaceAll(t.Name(), "/", "_")+".db")
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			if err := os.WriteFile(path, migrated, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return openForConformance(t, path, observers...)
	}
}

// migratedFile returns an empty queue's file: copying it costs less than migrating for every test.
func migratedFile(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), "migrated.db")
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jobs.New(store).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil { // moves the WAL's contents into the file
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// engine is a store and the application's own pool on the same file.
type engine struct {
	port.Store
	*publicStore
	pool *sql.DB
}

func openForConformance(t *testing.T, path string, observers ...*jobs.Observer) conformance.Store {
	return openWith(t, path, sqlite.WithObserver(jobs.Observers(observers...)))
}

func openWith(t *testing.T, path string, opts ...sqlite.Option) conformance.Store {
	store, err := sqlite.Open(t.Context(), path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(30000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine{port.StoreOf(store), store, pool}
}

// publicStore is the store's exported type.
type publicStore = sqlite.Store

func (e engine) Close() error { return e.publicStore.Close() }

func (e engine) Begin(ctx context.Context) (conformance.Tx, error) {
	tx, err := e.pool.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	return transaction{sqlite.Tx(tx), tx.Commit, tx.Rollback}, nil
}

func (e engine) BeginSQL(ctx context.Context) (*sql.Tx, error) { return e.pool.BeginTx(ctx, nil) }

// LeaveLock creates the file that a killed worker's process leaves: the kernel drops the lock, not the file.
func (e engine) LeaveLock(key string) error {
	return os.WriteFile(filepath.Join(e.Path()+"-sqluice", "worker-"+key+".lock"), nil, 0o600)
}

// Plain runs statements in a transaction of the application's pool.
func (e engine) Plain(ctx context.Context, statements ...string) (numbers []int64, err error) {
	tx, err := e.pool.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, statement := range statements {
		if numbers, err = appendNumbers(ctx, tx, statement, numbers); err != nil {
			return nil, errors.Join(err, tx.Rollback())
		}
	}
	return numbers, tx.Commit()
}

// appendNumbers appends the first column of a statement's rows.
func appendNumbers(ctx context.Context, tx *sql.Tx, statement string, numbers []int64) ([]int64, error) {
	rows, err := tx.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, rows.Err()
}

type transaction struct {
	jobs.Tx
	commit, rollback func() error
}

func (t transaction) Commit() error   { return t.commit() }
func (t transaction) Rollback() error { return t.rollback() }
