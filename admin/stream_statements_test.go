package admin_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// No event stream runs statements of its own to learn of changes.
func TestStreamsRunNoStatements(t *testing.T) {
	var statements atomic.Int64
	observer := &jobs.Observer{Queried: func(string, time.Duration, error) { statements.Add(1) }}
	test := func(t *testing.T, here, there jobs.Store) {
		_, err := engine.StoreOf(here).Migrations().Migrate(t.Context())
		must(t, err)
		server := serveStreams(t, newHandler(t, jobs.New(here), admin.Config{}))
		var readers []*reader
		for range 60 {
			readers = append(readers, listen(t, server.URL, nil))
		}
		for _, r := range readers {
			_, err := r.next()
			must(t, err)
		}
		before, changed := statements.Load(), engine.StoreOf(there).Now()
		_, err = jobs.New(there).Enqueue(t.Context(), "k", []byte("1"))
		must(t, err)
		for _, r := range readers {
			must(t, r.since(changed))
		}
		if n := statements.Load() - before; n != 0 {
			t.Errorf("one change costs %d statements beside %d streams", n, len(readers))
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.db")
		test(t, testdb.OpenSQLite(t, path, sqlite.WithObserver(observer)), testdb.OpenSQLite(t, path))
	})
	t.Run("postgres", func(t *testing.T) {
		url := shared.Postgres(t).Database(t)
		here, err := postgres.Open(t.Context(), url, postgres.WithObserver(observer))
		must(t, err)
		t.Cleanup(func() { must(t, here.Close()) })
		there, err := postgres.Open(t.Context(), url)
		must(t, err)
		t.Cleanup(func() { must(t, there.Close()) })
		test(t, here, there)
	})
}
