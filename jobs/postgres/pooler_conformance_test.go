package postgres_test

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/internal/conformance"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// The whole suite, also what rests on locks, passes behind a pooler, when the two connections that a worker keeps for
// itself lead to the server.
func TestConformanceBehindPgBouncer(t *testing.T) {
	if testing.Short() {
		t.Skip("as long as TestConformance: the long form runs it")
	}
	t.Parallel()
	server := testdb.StartPostgres(t)
	pooler := testdb.StartPgBouncer(t, server.URL(), nil)
	template := server.Template(t, func(url string) {
		store, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := port.StoreOf(store).Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	})
	// Calls of one test open one database.
	var mu sync.Mutex
	urls := map[*testing.T]string{}
	conformance.Run(t, func(t *testing.T, observers ...*jobs.Observer) conformance.Store {
		mu.Lock()
		defer mu.Unlock()
		url, ok := urls[t]
		if !ok {
			url = server.Copy(t, template)
			urls[t] = url
		}
		return openBehindPgBouncer(t, pooler.URL(url), url, observers...)
	})
}

func openBehindPgBouncer(t *testing.T, url, session string, observers ...*jobs.Observer) conformance.Store {
	store, err := postgres.Open(t.Context(), url+"&pgbouncer=true", postgres.WithSession(session), postgres.WithObserver(jobs.Observers(observers...)))
	if err != nil {
		t.Fatal(err)
	}
	// The application's own pool, which is to prepare nothing either.
	pool, err := pgxpool.New(t.Context(), url+"&pool_max_conns=4&default_query_exec_mode=exec")
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
