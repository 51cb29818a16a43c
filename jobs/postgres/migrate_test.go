package postgres

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
	"github.com/sqluice/sqluice/internal/queue/migration"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var migrateTests = []engineTest{
	{"ManyMigrateAtOnce", testManyMigrateAtOnce},
	{"MigrationWaits", testMigrationWaits},
	{"IndexBuiltConcurrently", testIndexBuiltConcurrently},
	{"SchemaReadWhileItChanges", testSchemaReadWhileItChanges},
	{"SettingsOfTheRole", testSettingsOfTheRole},
	{"Truncate", testTruncate},
	{"SchemaGone", testSchemaGone},
	{"OutdatedStatements", testOutdatedStatements},
}

// The version checks each second notice that a schema in use is gone.
func testSchemaGone(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	must(t, client.CheckSchema(t.Context()))
	want(t, "jobs", rows(t, client, "k"), 0) // from here on the schema counts as right
	found, err := store.Migrations().Schema(t.Context())
	must(t, err)
	want(t, "version", found.Have, found.Want)
	exec(t, dial(t, url), "drop_versions")
	found, err = store.Migrations().Schema(t.Context())
	must(t, err)
	want(t, "version", found.Have, 0)
}

// Programs that start together all migrate: each migration runs once, and no program sees an error, however short the role's
// timeouts are.
func testManyMigrateAtOnce(t *testing.T, site *site) {
	server := site.server
	for _, test := range []struct {
		name, settings string
		opts           []Option
	}{
		{name: "empty database"},
		{name: "schema", opts: []Option{WithSchema(`odd "schema"`)}},
		{name: "impatient", settings: "impatient"},
		{name: "impatient, schema", settings: "impatient", opts: []Option{WithSchema("own")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := server.Database(t)
			if test.settings != "" {
				exec(t, dial(t, url), test.settings, databaseOf(t, url))
			}
			const n = 10
			var mu sync.Mutex
			var ran []string
			var start, all sync.WaitGroup
			start.Add(n)
			for range n {
				_, client := open(t, url, test.opts...)
				all.Go(func() {
					start.Done()
					start.Wait()
					names, err := client.Migrate(t.Context())
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					ran = append(ran, names...)
				})
			}
			all.Wait()
			store, client := open(t, url, test.opts...)
			must(t, client.CheckSchema(t.Context()))
			found, err := store.Migrations().Schema(t.Context())
			must(t, err)
			slices.Sort(ran)
			if len(ran) != int(found.Want) || len(slices.Compact(slices.Clone(ran))) != len(ran) {
				t.Errorf("together they ran %v", ran)
			}
			wantDrained(t, client, 1)
		})
	}
}

// A migration waits for another slow one, for longer than the role's timeouts allow.
func testMigrationWaits(t *testing.T, site *site) {
	url := site.server.Database(t)
	conn := dial(t, url)
	exec(t, conn, "impatient", databaseOf(t, url))
	run(t, conn, "lock", int64(migrateLock)) // as another process has it
	_, client := open(t, url)
	done := make(chan error, 1)
	go func() {
		_, err := client.Migrate(t.Context())
		done <- err
	}()
	admin := dial(t, with(url, "statement_timeout=0"))
	eventually(t, "it has waited for longer", func() bool { return scan[bool](t, admin, "waits_long") })
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	must(t, conn.Close(t.Context()))
	must(t, receive(t, "the migration", done))
}

// An index is built CONCURRENTLY while other migrators wait for their turn, directly and behind a pooler: neither they nor
// the holder of the lock keep a snapshot, for whose end the server would wait.
func testIndexBuiltConcurrently(t *testing.T, site *site) {
	pooler := testdb.StartPgBouncer(t, site.server.URL(), nil)
	for _, test := range []struct {
		name string
		url  func(string) string
		opts []Option
	}{
		{name: "the server itself", url: func(url string) string { return url }},
		{name: "behind a pooler", url: pooler.URL, opts: []Option{BehindPooler()}},
	} {
		t.Run(test.name, func(t *testing.T) {
			const n = 4
			url := site.server.Copy(t, site.template)
			ctx, cancel := context.WithTimeout(t.Context(), hang)
			defer cancel()
			var asked, ran atomic.Int64
			var all sync.WaitGroup
			for range n {
				store, _ := open(t, test.url(url), test.opts...)
				store.conns.session.Tracer = &asksForLock{ask: sync.OnceFunc(func() { asked.Add(1) })}
				all.Go(func() {
					_, err := store.schema.migrate(ctx, false, func(*goose.Provider) error {
						eventually(t, "the others have asked for the lock too", func() bool { return asked.Load() == n })
						pool := store.schema.migrationPool()
						p, err := goose.NewProvider(goose.DialectPostgres, pool, os.DirFS("testdata/concurrently"),
							goose.WithTableName("test_goose_version"), goose.WithDisableGlobalRegistry(true))
						if err == nil {
							var results []*goose.MigrationResult
							results, err = p.Up(ctx)
							ran.Add(int64(len(results)))
						}
						return errors.Join(err, pool.Close())
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			want(t, "migrations run", ran.Load(), 1)
			want(t, "the index is valid", scan[bool](t, dial(t, url), "index_is_valid"), true)
		})
	}
}

// changesOnError changes the schema once, when a statement has failed because a table is missing.
type changesOnError struct{ change func() }

func (c *changesOnError) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (c *changesOnError) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if change := c.change; change != nil && isNoTable(data.Err) {
		c.change = nil
		change()
	}
}

// The versions are read correctly when another process commits the migrations that record versions during the read.
func testSchemaReadWhileItChanges(t *testing.T, site *site) {
	url := site.server.Copy(t, site.template)
	other, client := open(t, url)
	for {
		found, err := other.Migrations().Schema(t.Context())
		must(t, err)
		if found.Have < migration.Recorded {
			break
		}
		_, err = other.Migrations().MigrateDown(t.Context())
		must(t, err)
	}
	changes := &changesOnError{change: func() {
		_, err := client.Migrate(t.Context())
		must(t, err)
	}}
	config, err := pgxpool.ParseConfig(url)
	must(t, err)
	config.ConnConfig.Tracer = changes
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(pool.Close)
	store, err := newBackend(pool)
	must(t, err)
	t.Cleanup(func() { shut(t, store) })
	found, err := store.Migrations().Schema(t.Context())
	must(t, err)
	want(t, "the versions were read before and after", changes.change == nil, true)
	want(t, "the version", found.Applied, found.Want)
}

// asksForLock signals that a connection asks for a lock.
type asksForLock struct{ ask func() }

func (a *asksForLock) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "advisory") {
		a.ask()
	}
	return ctx
}

func (a *asksForLock) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Under any settings of a role or a database, a job's life is the same.
func testSettingsOfTheRole(t *testing.T, site *site) {
	server := site.server
	for i, setting := range []string{
		"statement_timeout = '5s'", "lock_timeout = '1s'", "idle_in_transaction_session_timeout = '1s'",
		"default_transaction_isolation = 'serializable'", "default_transaction_isolation = 'repeatable read'",
		"default_transaction_deferrable = on", "standard_conforming_strings = off", "backslash_quote = off",
		"transform_null_equals = on", "quote_all_identifiers = on", "DateStyle = 'German, DMY'", "TimeZone = 'Asia/Kathmandu'",
		"IntervalStyle = 'sql_standard'", "extra_float_digits = -5", "bytea_output = 'escape'", "search_path = '$user', public",
		"plan_cache_mode = force_generic_plan", "plan_cache_mode = force_custom_plan", "enable_indexscan = off", "jit_above_cost = 0",
		"client_min_messages = debug5", "row_security = off", "synchronous_commit = off", "session_replication_role = 'replica'",
	} {
		if testing.Short() && i%3 != 0 {
			continue // each runs a whole life of jobs
		}
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			url := server.Database(t)
			_, err := dial(t, url).Exec(t.Context(), strings.Replace(sqlFile(t, "set_for_all", databaseOf(t, url)), "@setting", setting, 1))
			must(t, err)
			store, client := migrated(t, url)
			lifeOfJobs(t, store, client)
		})
	}
}

// The errors of jobs go with them, however they go: new jobs would get their ids, and a rescue would take the errors
// for those of the new jobs.
func testTruncate(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	fail := func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("no")) }
	id := enqueue(t, client, "k")
	drain(t, client, jobs.Config{}, handlers{"k": fail})
	run(t, dial(t, url), "truncate_jobs")
	want(t, "the next job's id", enqueue(t, client, "k"), id)
	list, err := inspect.New(client).Errors(t.Context(), id)
	must(t, err)
	want(t, "errors of the next job", len(list), 0)
}
