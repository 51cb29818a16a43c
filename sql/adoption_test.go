package sql_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// loaded is a database into which a dump of another database's schema was loaded.
type loaded struct {
	pool  *sql.DB
	store jobs.Store
}

// loads returns a function that makes a database at a version, 0 for the newest, runs statements in it, and loads a dump of its schema
// into another one. It needs the engine's own tools.
func loads(t *testing.T, e engine) func(t *testing.T, version int64, statements ...string) loaded {
	t.Helper()
	if e.name == "sqlite" {
		return func(t *testing.T, version int64, statements ...string) loaded {
			source := filepath.Join(t.TempDir(), "source.db")
			prepare(t, e, testdb.PlainSQLite(t, source), version, statements)
			return loadSQLite(t, tool(t, "", "sqlite3", source, ".schema --nosys"))
		}
	}
	server := shared.Postgres(t)
	return func(t *testing.T, version int64, statements ...string) loaded {
		source := server.Database(t)
		pool, err := sql.Open("pgx", source+"&default_query_exec_mode=exec")
		if err != nil {
			t.Fatal(err)
		}
		prepare(t, e, pool, version, statements)
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
		return loadPostgres(t, server.Database(t), tool(t, "", "pg_dump", "--schema-only", "--no-owner", "--no-privileges", source))
	}
}

func prepare(t *testing.T, e engine, pool *sql.DB, version int64, statements []string) {
	t.Helper()
	provider := testdb.Goose(t, e.dialect, pool)
	if version == 0 {
		version = newest(provider)
	}
	migrateTo(t, provider, version)
	for _, statement := range statements {
		mustExec(t, pool, statement)
	}
}

func loadSQLite(t *testing.T, dump string) loaded {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loaded.db")
	tool(t, dump, "sqlite3", "-bail", path)
	return loaded{testdb.PlainSQLite(t, path), testdb.OpenSQLite(t, path, sqlite.MustExist())}
}

func loadPostgres(t *testing.T, url, dump string, opts ...postgres.Option) loaded {
	t.Helper()
	tool(t, dump, "psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", url)
	store, err := postgres.Open(t.Context(), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	pool, err := sql.Open("pgx", url+"&default_query_exec_mode=exec")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return loaded{pool, store}
}

// tool runs a command-line tool of an engine and returns its output.
func tool(t *testing.T, input, name string, args ...string) string {
	t.Helper()
	if folder := os.Getenv(testdb.BinariesVariable); folder != "" {
		if own := filepath.Join(folder, name); exec.CommandContext(t.Context(), own, "--version").Run() == nil {
			name = own
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no %s to test with, which CI must have: %v", name, err)
		}
		t.Skipf("NOT TESTED with %s: %v", name, err)
	}
	command := exec.CommandContext(t.Context(), path, args...)
	command.Stdin = strings.NewReader(input)
	var out, fault bytes.Buffer
	command.Stdout, command.Stderr = &out, &fault
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, fault.String())
	}
	return out.String()
}

// adopt migrates a loaded database, which adopts it at a version, 0 for the newest.
func (l loaded) adopt(t *testing.T, version int64) port.Migrated {
	t.Helper()
	var schema *jobs.SchemaError
	if _, err := jobs.New(l.store).Enqueue(t.Context(), "k", []byte("{}")); !errors.As(err, &schema) || !schema.Unversioned ||
		!strings.Contains(err.Error(), "adopts the tables") {
		t.Errorf("before the migration an enqueue gives %v", err)
	}
	done, err := port.StoreOf(l.store).Migrations().Migrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := port.StoreOf(l.store).Migrations().Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if version == 0 {
		version = found.Want
	}
	if done.Adopted == nil || done.Adopted.Version != version || int64(len(done.Names)) != found.Want-version {
		t.Fatalf("the migration did %+v, not adopt version %d", done, version)
	}
	if err := jobs.New(l.store).CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
	return done
}

// state returns the parts of the schema, and the recorded versions.
func state(t *testing.T, e engine, pool *sql.DB) string {
	t.Helper()
	return e.dump(t, pool) + fmt.Sprint(
		rows(t, pool, `SELECT version_id, is_applied FROM sqluice_migrations ORDER BY id`),
		rows(t, pool, `SELECT version, runs_from FROM sqluice_schema_versions ORDER BY version`))
}

// A database into which a dump of the schema alone was loaded, at any version, equals after the migration a database that was migrated
// from the first version on: to the last row of goose's table, and back to an empty one.
func TestADumpIsAdopted(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		load := loads(t, e)
		for version := newestOf(t, e); version >= 1; version-- {
			if older := newestOf(t, e) - version; testing.Short() && older > 2 && version > 1 {
				continue
			}
			t.Run(fmt.Sprint(version), func(t *testing.T) {
				l := load(t, version)
				if done := l.adopt(t, version); len(done.Adopted.Own) != 0 {
					t.Errorf("the owner's parts are %v", done.Adopted.Own)
				}
				pool, _ := e.at(t, 0)
				if have, want := state(t, e, l.pool), state(t, e, pool); flat(have) != flat(want) {
					t.Errorf("the adopted database differs from a migrated one:%s", difference(want, have))
				}
				if _, err := jobs.New(l.store).Enqueue(t.Context(), "k", []byte("{}")); err != nil {
					t.Error(err)
				}
				done, err := port.StoreOf(l.store).Migrations().Migrate(t.Context())
				if err != nil || done.Adopted != nil || len(done.Names) != 0 {
					t.Errorf("a second migration gives %+v, %v", done, err)
				}
				mustExec(t, l.pool, `DELETE FROM sqluice_jobs`)
				migrateTo(t, testdb.Goose(t, e.dialect, l.pool), 0)
			})
		}
	})
}

// flat returns a dump without parentheses, in which PostgreSQL nests conditions until they were loaded from a dump, and without the
// comments that SQLite's tool adds to views.
func flat(dump string) string {
	dump = regexp.MustCompile(`/\*.*?\*/`).ReplaceAllString(dump, "")
	return strings.NewReplacer("(", "", ")", "", " ", "", "\n", "").Replace(dump)
}

func newestOf(t *testing.T, e engine) int64 {
	t.Helper()
	return migrationsOf(t, e).Newest()
}

// A database whose version table is missing, or has lost its rows, is adopted too.
func TestTablesWithoutAVersionTableAreAdopted(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		for _, lose := range []string{`DROP TABLE sqluice_migrations`, `DELETE FROM sqluice_migrations`, `DELETE FROM sqluice_migrations WHERE version_id > 0`} {
			t.Run(lose, func(t *testing.T) {
				w := worlds(t, e)(t)
				before := state(t, e, w.plain)
				w.must("lose the versions", w.exec(lose))
				w.must("close", w.store.Close())
				l := loaded{w.plain, reopen(t, w)}
				l.adopt(t, 0)
				if after := state(t, e, w.plain); after != before {
					t.Errorf("the adopted database differs from the one before:%s", difference(before, after))
				}
			})
		}
	})
}

// The owner's additions to the queue's tables stay, and are named.
func TestOwnPartsAreAdopted(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		statements := []string{
			`ALTER TABLE sqluice_jobs ADD COLUMN region TEXT NOT NULL DEFAULT '' CHECK (length(region) <= 100)`,
			`CREATE INDEX jobs_of_region ON sqluice_jobs (region, id)`,
			`CREATE TABLE notes (job_id BIGINT, note TEXT)`,
		}
		names := []string{"column sqluice_jobs.region", "index jobs_of_region of sqluice_jobs"}
		if e.name == "sqlite" {
			statements = append(statements, `CREATE TRIGGER own_note AFTER INSERT ON sqluice_jobs BEGIN INSERT INTO notes (job_id) VALUES (NEW.id); END`)
		} else {
			statements = append(statements,
				`CREATE FUNCTION own_note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO notes (job_id) VALUES (NEW.id); RETURN NULL; END'`,
				`CREATE TRIGGER own_note AFTER INSERT ON sqluice_jobs FOR EACH ROW EXECUTE FUNCTION own_note()`)
			names = append([]string{names[0], "constraint sqluice_jobs_region_check of sqluice_jobs"}, names[1:]...)
		}
		names = append(names, "trigger own_note of sqluice_jobs")
		done := loads(t, e)(t, 0, statements...).adopt(t, 0)
		if have, want := fmt.Sprint(done.Adopted.Own), fmt.Sprint(names); have != want {
			t.Errorf("the owner's parts are %s, not %s", have, want)
		}
	})
}

// Tables that equal no version are refused with each difference, and stay as they are.
func TestOtherTablesAreNotAdopted(t *testing.T) {
	type change struct{ statement, difference string }
	changes := map[string][]change{
		"": {
			{`DROP INDEX sqluice_jobs_due`, "the index sqluice_jobs_due of sqluice_jobs is missing"},
			{`CREATE TABLE sqluice_news (id BIGINT)`, "the table sqluice_news is not of this version"},
			{`DROP TABLE sqluice_sensitive_fields`, "the table sqluice_sensitive_fields is missing"},
			{`ALTER TABLE sqluice_workers RENAME COLUMN ended_at TO left_at`, "the column sqluice_workers.ended_at is missing"},
			{`DROP VIEW sqluice_failures`, "the view sqluice_failures is missing"},
			{`DROP TABLE ` + testdb.VersionTable, ""},
		},
		"sqlite": {
			{`DROP TRIGGER sqluice_jobs_delete_counts`, "the trigger sqluice_jobs_delete_counts of sqluice_jobs is missing"},
			{`DROP TABLE sqluice_moves`, ""},
			{`CREATE TABLE sqluice_moves (direction TEXT NOT NULL PRIMARY KEY, token TEXT, peer TEXT NOT NULL, started_at INTEGER NOT NULL)`,
				`the column sqluice_moves.token is "text" in place of "text not null`},
		},
		"postgres": {
			{`ALTER TABLE sqluice_jobs ALTER COLUMN priority DROP NOT NULL`,
				`the column sqluice_jobs.priority is "sqluice_priority DEFAULT 0" in place of "sqluice_priority NOT NULL DEFAULT 0"`},
			{`ALTER TABLE sqluice_jobs ALTER COLUMN queue SET DEFAULT 'main'`, `the column sqluice_jobs.queue is "sqluice_name NOT NULL DEFAULT 'main'`},
			{`ALTER TABLE sqluice_jobs DROP CONSTRAINT sqluice_jobs_id_check`, "the constraint sqluice_jobs_id_check of sqluice_jobs is missing"},
			{`ALTER TABLE sqluice_jobs SET UNLOGGED`, `the table sqluice_jobs is "unlogged" in place of "logged"`},
			{`DROP TRIGGER sqluice_jobs_delete_counts ON sqluice_jobs`, "the trigger sqluice_jobs_delete_counts of sqluice_jobs is missing"},
			{`ALTER TABLE sqluice_jobs DISABLE TRIGGER sqluice_jobs_delete_errors`, "the trigger sqluice_jobs_delete_errors of sqluice_jobs is"},
			{`ALTER DOMAIN sqluice_name DROP CONSTRAINT sqluice_name_check`, "the domain sqluice_name is "},
			{`ALTER FUNCTION sqluice_ids(text) VOLATILE`, "the function sqluice_ids(ids text) is defined in another way"},
			{`CREATE FUNCTION sqluice_more() RETURNS int LANGUAGE sql AS 'SELECT 1'`, "the function sqluice_more() is not of this version"},
			{`CREATE TYPE sqluice_size AS ENUM ('s')`, "the type sqluice_size is not of this version"},
			{`CREATE SEQUENCE sqluice_numbers`, "the sequence sqluice_numbers is not of this version"},
		},
	}
	onEachEngine(t, func(t *testing.T, e engine) {
		var statements []string
		list := append(changes[""], changes[e.name]...)
		for _, c := range list {
			statements = append(statements, c.statement)
		}
		l := loads(t, e)(t, 0, statements...)
		before := e.dump(t, l.pool)
		_, err := jobs.New(l.store).Migrate(t.Context())
		if err == nil || !strings.Contains(err.Error(), "Nothing was changed") ||
			!strings.Contains(err.Error(), fmt.Sprintf("Version %d is the nearest", newestOf(t, e))) {
			t.Fatalf("Migrate gives %v", err)
		}
		t.Log(err)
		for _, c := range list {
			if !strings.Contains(err.Error(), c.difference) {
				t.Errorf("Migrate does not say %q", c.difference)
			}
		}
		if after := e.dump(t, l.pool); after != before || tables(t, e, l.pool, testdb.VersionTable) != 0 {
			t.Errorf("the database was changed:%s", difference(before, after))
		}
		if _, err := port.StoreOf(l.store).Migrations().MigrateDown(t.Context()); err == nil || !strings.Contains(err.Error(), "without their versions") {
			t.Errorf("MigrateDown gives %v", err)
		}
	})
}

// A migration inserts rows into no table but the one of schema versions, so adoption adds rows to no other.
func TestMigrationsInsertIntoNoOtherTable(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, _ := e.at(t, 0)
		list := `SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'sqluice!_%' ESCAPE '!'`
		if e.name == "postgres" {
			list = `SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = 'public'`
		}
		for _, row := range rows(t, pool, list) {
			name := row[0].(string)
			if n := scan[int64](t, pool, `SELECT COUNT(*) FROM `+name); n != 0 && name != testdb.VersionTable && name != "sqluice_schema_versions" {
				t.Errorf("the migrations leave %d rows in %s: adoption must add them", n, name)
			}
		}
	})
}

// A schema of another name is compared under that name.
func TestNamedPlaceIsAdopted(t *testing.T) {
	server := shared.Postgres(t)
	source := server.Database(t)
	const name = `odd "schema"`
	store, err := postgres.Open(t.Context(), source, postgres.WithSchema(name))
	if err != nil {
		t.Fatal(err)
	}
	_, err = jobs.New(store).Migrate(t.Context())
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	l := loadPostgres(t, server.Database(t), tool(t, "", "pg_dump", "--schema-only", source), postgres.WithSchema(name))
	l.adopt(t, 0)
}

// Of several programs that migrate at once one adopts the tables.
func TestManyAdoptAtOnce(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		l := loads(t, e)(t, newestOf(t, e)-1)
		const n = 4
		results := make(chan port.Migrated, n)
		errs := make(chan error, n)
		for range n {
			go func() {
				done, err := port.StoreOf(l.store).Migrations().Migrate(context.WithoutCancel(t.Context()))
				results <- done
				errs <- err
			}()
		}
		adopted := 0
		for range n {
			if err := <-errs; err != nil {
				t.Error(err)
			}
			if done := <-results; done.Adopted != nil {
				adopted++
			}
		}
		if adopted != 1 {
			t.Errorf("%d programs adopted the tables", adopted)
		}
	})
}
