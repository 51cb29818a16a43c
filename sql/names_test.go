package sql_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// An application's tables of everyday names stay as they are beside the queue's.
func TestQueueBesideTablesOfEverydayNames(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		make := worlds(t, e)
		w := make(t)
		migrateDown(t, w)
		everyday := []string{"jobs", "workers", "queues", "moves", "job_errors", "job_counts", "job_audit", "jobs_claim", "jobs_readable"}
		for _, name := range everyday {
			w.must("make a table", w.exec("CREATE TABLE "+name+" (title TEXT)"))
			w.must("add a row", w.exec("INSERT INTO "+name+" (title) VALUES ('own')"))
		}
		if _, err := w.client.Migrate(w.ctx); err != nil {
			t.Fatal(err)
		}
		w.goesOn()
		w.looks()
		migrateDown(t, w)
		for _, name := range everyday {
			if list := rows(t, w.plain, "SELECT * FROM "+name); fmt.Sprint(list) != "[[own]]" {
				t.Errorf("the application's table %s has the rows %v", name, list)
			}
		}
	})
}

func migrateDown(t *testing.T, w *world) {
	t.Helper()
	for {
		name, err := port.StoreOf(w.store).Migrations().MigrateDown(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if name == "" {
			return
		}
	}
}

// A database in which a name of the queue is taken is refused with the names, by the library and by goose, and is left as
// it was.
func TestTakenNamesAreRefused(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		make := worlds(t, e)
		w := make(t)
		migrateDown(t, w)
		w.must("drop goose's table", w.exec("DROP TABLE "+testdb.VersionTable))
		w.must("make a table", w.exec("CREATE TABLE sqluice_workers (title TEXT)"))
		w.must("make a view", w.exec("CREATE VIEW sqluice_job_errors AS SELECT title FROM sqluice_workers"))
		before := e.dump(t, w.plain)
		refused := func(what string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), "sqluice_job_errors, sqluice_workers") {
				t.Errorf("%s gives %v", what, err)
			}
			if after := e.dump(t, w.plain); after != before {
				t.Errorf("after %s the database has\n%s, not\n%s", what, after, before)
			}
		}
		_, err := w.client.Migrate(w.ctx)
		refused("the library", err)
		if n := tables(t, e, w.plain, testdb.VersionTable); n != 0 {
			t.Error("the library leaves goose's table behind")
		}
		_, err = testdb.Goose(t, e.dialect, w.plain).Up(w.ctx)
		refused("goose", err)
	})
}

// A database in which the name of goose's table for the queue is taken is refused too.
func TestATakenVersionTableIsRefused(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		make := worlds(t, e)
		w := make(t)
		migrateDown(t, w)
		w.must("drop goose's table", w.exec("DROP TABLE "+testdb.VersionTable))
		w.must("make a table", w.exec("CREATE TABLE "+testdb.VersionTable+" (title TEXT)"))
		before := e.dump(t, w.plain)
		w.must("close", w.store.Close())
		client := jobs.New(reopen(t, w))
		_, migrate := client.Migrate(w.ctx)
		_, enqueue := client.Enqueue(w.ctx, "k", []byte("{}"))
		for what, err := range map[string]error{"Migrate": migrate, "an enqueue": enqueue, "a check": client.CheckSchema(w.ctx)} {
			if err == nil || !strings.Contains(err.Error(), testdb.VersionTable+" is not goose's table of the queue's version") {
				t.Errorf("%s gives %v", what, err)
			}
		}
		if after := e.dump(t, w.plain); after != before {
			t.Errorf("the database has\n%s, not\n%s", after, before)
		}
	})
}

// reopen opens a world's database again.
func reopen(t *testing.T, w *world) jobs.Store {
	t.Helper()
	if w.e.name == "sqlite" {
		return testdb.OpenSQLite(t, w.name)
	}
	store, err := postgres.Open(t.Context(), w.name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func tables(t *testing.T, e engine, pool *sql.DB, name string) int64 {
	t.Helper()
	if e.dialect == goose.DialectSQLite3 {
		return scan[int64](t, pool, `SELECT COUNT(*) FROM sqlite_schema WHERE name = ?`, name)
	}
	return scan[int64](t, pool, `SELECT COUNT(*) FROM pg_class WHERE relname = $1`, name)
}

// The first migration refuses every name that it or a later migration creates.
func TestTheFirstMigrationRefusesEveryName(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool := e.empty(t)
		provider := testdb.Goose(t, e.dialect, pool)
		var all []string
		for version := int64(1); version <= newest(provider); version++ {
			before := objects(t, e, pool)
			migrateTo(t, provider, version)
			made := slices.DeleteFunc(objects(t, e, pool), func(name string) bool { return slices.Contains(before, name) })
			for _, name := range made {
				if !strings.HasPrefix(name, "sqluice_") {
					t.Errorf("version %d makes %s, which does not begin with sqluice_", version, name)
				}
			}
			all = append(all, made...)
		}
		migrateTo(t, provider, 0)
		for _, name := range all {
			mustExec(t, pool, "CREATE TABLE "+name+" (title TEXT)")
			_, err := provider.UpTo(t.Context(), 1)
			if err == nil || !strings.Contains(err.Error(), "names already") || !strings.Contains(err.Error(), name) {
				t.Errorf("where %s is taken, the first migration gives %v", name, err)
			}
			mustExec(t, pool, "DROP TABLE "+name)
		}
		migrateTo(t, provider, newest(provider))
	})
}

// objects returns the names of all tables, indexes, views, triggers and sequences, except goose's own.
func objects(t *testing.T, e engine, pool *sql.DB) (names []string) {
	t.Helper()
	query := `SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!' AND tbl_name <> '` + testdb.VersionTable + `'`
	if e.dialect == goose.DialectPostgres {
		query = `SELECT CAST(c.relname AS TEXT) FROM pg_class AS c WHERE c.relnamespace = CAST('public' AS regnamespace)
			AND c.relname NOT LIKE '` + testdb.VersionTable + `%'`
	}
	for _, row := range rows(t, pool, query) {
		names = append(names, row[0].(string))
	}
	return names
}

// A queue of an earlier build, which had other names, is refused by name.
func TestEarlierBuildsAreRefused(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		for _, version := range []int64{1, 10, 15} {
			w := worlds(t, e)(t)
			migrateDown(t, w)
			w.must("note the version", w.exec(numbered("INSERT INTO "+testdb.VersionTable+" (version_id, is_applied) VALUES (?, ?)", e), version, true))
			w.must("make a table", w.exec("CREATE TABLE jobs (id BIGINT)"))
			_, migrateErr := w.client.Migrate(w.ctx)
			_, listErr := inspect.New(w.client).List(w.ctx, inspect.Filter{})
			for what, err := range map[string]error{"migrate": migrateErr, "list": listErr} {
				if err == nil || !strings.Contains(err.Error(), "earlier build") {
					t.Errorf("at version %d %s gives %v", version, what, err)
				}
			}
		}
	})
}

// Versions in the table of an earlier name are refused too: by the library with a sentence, and by goose with the names.
func TestTheEarlierVersionTableIsRefused(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		w := worlds(t, e)(t)
		w.must("rename goose's table", w.exec("ALTER TABLE "+testdb.VersionTable+" RENAME TO sqluice_goose_version"))
		before := e.dump(t, w.plain)
		w.must("close", w.store.Close())
		client := jobs.New(reopen(t, w))
		_, migrate := client.Migrate(w.ctx)
		_, enqueue := client.Enqueue(w.ctx, "k", []byte("{}"))
		_, list := inspect.New(client).List(w.ctx, inspect.Filter{})
		for what, err := range map[string]error{"Migrate": migrate, "an enqueue": enqueue, "a check": client.CheckSchema(w.ctx), "a list": list} {
			if err == nil || !strings.Contains(err.Error(), "earlier build of sqluice (its versions are in the table sqluice_goose_version)") {
				t.Errorf("%s gives %v", what, err)
			}
		}
		if after := e.dump(t, w.plain); after != before {
			t.Errorf("the database has\n%s, not\n%s", after, before)
		}
		_, err := testdb.Goose(t, e.dialect, w.plain).Up(w.ctx)
		if err == nil || !strings.Contains(err.Error(), "names already") || !strings.Contains(err.Error(), "sqluice_goose_version") {
			t.Errorf("goose gives %v", err)
		}
	})
}
