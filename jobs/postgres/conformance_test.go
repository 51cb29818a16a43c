package postgres_test

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/conformance"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, opener(t))
}

func TestTriggersMeddleWithWhatIsHandedOver(t *testing.T) {
	t.Parallel()
	conformance.RunMeddling(t, opener(t), func(ctx context.Context, store conformance.Store, text string) error {
		_, err := store.(engine).pool.Exec(ctx, text)
		return err
	})
}

func TestRulesOfTheApplicationRefuseSomeJobs(t *testing.T) {
	t.Parallel()
	conformance.RunRefusals(t, opener(t), func(ctx context.Context, store conformance.Store, text string) error {
		_, err := store.(engine).pool.Exec(ctx, text)
		return err
	})
}

func TestClockThatFails(t *testing.T) {
	t.Parallel()
	databases := migratedDatabases(t, postgres.SharedServer.Postgres(t))
	conformance.RunClock(t, func(t *testing.T, now func() time.Time) conformance.Store {
		return openForConformance(t, databases(t), postgres.WithClock(now))
	})
}

// opener opens a migrated database for each test.
func opener(t *testing.T) conformance.Open {
	return newWarmDatabases(t, postgres.SharedServer.Postgres(t), func(url string) (string, string, []postgres.Option) {
		return url, withParameter(url, "pool_max_conns=4"), nil
	}).Open
}

func withParameter(url, parameter string) string {
	if strings.Contains(url, "?") {
		return url + "&" + parameter
	}
	return url + "?" + parameter
}

// migratedDatabases returns a function that returns the URL of a test's own migrated database.
func migratedDatabases(t *testing.T, server *testdb.Postgres) func(t *testing.T) string {
	template := migratedTemplate(t, server)
	// Calls of one test open one database.
	var mu sync.Mutex
	urls := map[*testing.T]string{}
	return func(t *testing.T) string {
		mu.Lock()
		defer mu.Unlock()
		url, ok := urls[t]
		if !ok {
			url = server.Copy(t, template)
			urls[t] = url
		}
		return url
	}
}

func migratedTemplate(t *testing.T, server *testdb.Postgres) string {
	return server.Migrated(t, func(url string) (jobs.Store, error) { return postgres.Open(t.Context(), url) })
}

// engine is a store and the application's own pool on the same database.
type engine struct {
	port.Store
	*publicStore
	pool *pgxpool.Pool
}

func openForConformance(t *testing.T, url string, opts ...postgres.Option) conformance.Store {
	store, err := postgres.Open(t.Context(), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return withPool(t, withParameter(url, "pool_max_conns=4"), store)
}

// withPool closes the store, and the application's pool that it adds, when the test ends.
func withPool(t *testing.T, url string, store *postgres.Store) engine {
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pool.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine{port.StoreOf(store), store, pool}
}

// publicStore is the store's exported type.
type publicStore = postgres.Store

func (e engine) Close() error { return e.publicStore.Close() }

func (e engine) Begin(ctx context.Context) (conformance.Tx, error) {
	tx, err := e.pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return transaction{
		Tx:       postgres.Tx(tx),
		commit:   func() error { return tx.Commit(context.WithoutCancel(ctx)) },
		rollback: func() error { return tx.Rollback(context.WithoutCancel(ctx)) },
	}, nil
}

// BeginSQL starts a transaction of database/sql on a connection of the application's pool.
func (e engine) BeginSQL(ctx context.Context) (*sql.Tx, error) {
	return stdlib.OpenDBFromPool(e.pool).BeginTx(ctx, nil) // without idle connections of its own: nothing is left to close
}

// LeaveLock does nothing: the server drops the lock with the connection, and nothing is left of it.
func (e engine) LeaveLock(string) error { return nil }

// Plain runs statements in a transaction of the application's pool.
func (e engine) Plain(ctx context.Context, statements ...string) (numbers []int64, err error) {
	err = pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		for _, statement := range statements {
			rows, err := tx.Query(ctx, statement)
			if err != nil {
				return err
			}
			if numbers, err = pgx.AppendRows(numbers, rows, pgx.RowTo[int64]); err != nil {
				return err
			}
		}
		return nil
	})
	return numbers, err
}

type transaction struct {
	jobs.Tx
	commit, rollback func() error
}

func (t transaction) Commit() error   { return t.commit() }
func (t transaction) Rollback() error { return t.rollback() }
