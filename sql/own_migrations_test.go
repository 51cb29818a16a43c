package sql_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
	sqluice "github.com/sqluice/sqluice/sql"
)

// ownVersion is the version of a migration of the database's owner.
const ownVersion = 20261128120000

// withOwn returns goose with the project's migrations up to a version, and one of the owner.
func withOwn(t *testing.T, e engine, pool *sql.DB, last int64, opts ...goose.ProviderOption) *goose.Provider {
	t.Helper()
	files := fstest.MapFS{"20261128120000_region.sql": {Data: []byte(
		"-- +goose Up\nALTER TABLE sqluice_jobs ADD COLUMN region TEXT NOT NULL DEFAULT '';\n" +
			"-- +goose Down\nALTER TABLE sqluice_jobs DROP COLUMN region;\n")}}
	for _, m := range migrationsOf(t, e).All() {
		text, err := fs.ReadFile(sqluice.Migrations, "migrations/"+e.name+"/"+m.Name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Version <= last {
			files[m.Name] = &fstest.MapFile{Data: text}
		}
	}
	opts = append(opts, goose.WithTableName(testdb.VersionTable), goose.WithDisableGlobalRegistry(true))
	provider, err := goose.NewProvider(e.dialect, pool, files, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return provider
}

// An owner of a copy adds a migration, and the next release of the project brings another one: it is pending, Migrate runs it below the
// owner's, and goose does when missing migrations are allowed.
func TestOwnMigrationsSurviveAnUpgrade(t *testing.T) {
	check := func(t *testing.T, store jobs.Store, have int64, pending []int64) {
		t.Helper()
		found, err := port.StoreOf(store).Migrations().Schema(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if found.Have != have || !slices.Equal(found.Pending, pending) || !slices.Equal(found.Own, []int64{ownVersion}) {
			t.Errorf("the schema is %+v, not %d with %v pending", found, have, pending)
		}
	}
	upgrade := func(t *testing.T, e engine, pool *sql.DB, store jobs.Store) {
		t.Helper()
		newest := migrationsOf(t, e).Newest()
		if _, err := withOwn(t, e, pool, newest-1).Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustExec(t, pool, `INSERT INTO sqluice_jobs (kind, region) VALUES ('k', 'north')`)
		check(t, store, newest-1, []int64{newest})
		client := jobs.New(store)
		var schema *jobs.SchemaError
		if err := client.CheckSchema(t.Context()); !errors.As(err, &schema) || schema.Have != newest-1 {
			t.Errorf("before the migration the program gets %v", err)
		}
		names, err := client.Migrate(t.Context())
		if err != nil || len(names) != 1 {
			t.Fatalf("Migrate runs %v, %v", names, err)
		}
		check(t, store, newest, nil)
		if err := client.CheckSchema(t.Context()); err != nil {
			t.Errorf("the owner's version refuses the program: %v", err)
		}
		if _, err := client.Enqueue(t.Context(), "k", []byte("{}")); err != nil {
			t.Error(err)
		}
		if region := scan[string](t, pool, `SELECT region FROM sqluice_jobs WHERE region <> ''`); region != "north" {
			t.Errorf("the owner's column has %q", region)
		}
		// A program that lacks the owner's migration undoes the project's.
		name, err := port.StoreOf(store).Migrations().MigrateDown(t.Context())
		if err != nil || name != names[0] {
			t.Errorf("MigrateDown gives %q, %v", name, err)
		}
		check(t, store, newest-1, []int64{newest})
		// As goose does it.
		if _, err := withOwn(t, e, pool, newest).Up(t.Context()); err == nil {
			t.Error("goose runs a migration below the owner's without being allowed to")
		}
		if _, err := withOwn(t, e, pool, newest, goose.WithAllowOutofOrder(true)).Up(t.Context()); err != nil {
			t.Error(err)
		}
		check(t, store, newest, nil)
	}
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.db")
		pool := testdb.PlainSQLite(t, path)
		migrateTo(t, testdb.Goose(t, goose.DialectSQLite3, pool), 1)
		upgrade(t, sqliteEngine(), pool, testdb.OpenSQLite(t, path, sqlite.MustExist()))
	})
	t.Run("postgres", func(t *testing.T) {
		e := postgresEngine(t)
		url := shared.Postgres(t).Database(t)
		store, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		pool, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pool.Close() })
		upgrade(t, e, pool, store)
	})
}
