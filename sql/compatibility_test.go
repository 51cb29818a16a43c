package sql_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/queue/migration"
	sqluice "github.com/sqluice/sqluice/sql"
)

// migrationsOf returns an engine's migrations.
func migrationsOf(t *testing.T, e engine) migration.Set {
	t.Helper()
	files, err := fs.Sub(sqluice.Migrations, "migrations/"+e.name)
	if err != nil {
		t.Fatal(err)
	}
	set, err := migration.Read(files)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Each migration from the first recorded one on names the oldest version of the schema whose programs run on it: its file, which `sqluice
// up` reads before it runs it, and the row that it leaves agree, and its down removes the row.
func TestMigrationsSayWhichProgramsRun(t *testing.T) {
	said := map[int64]int64{}
	onEachEngine(t, func(t *testing.T, e engine) {
		set := migrationsOf(t, e)
		pool, provider := e.at(t, migration.Recorded-1)
		for _, m := range set.All() {
			if m.Version < migration.Recorded || m.IsOwn() {
				continue
			}
			from, err := set.RunsFrom(m.Version)
			if err != nil {
				t.Fatal(err)
			}
			if first, there := said[m.Version]; there && first != from {
				t.Errorf("%s runs programs from %d on, on the other engine from %d on", m.Name, from, first)
			}
			said[m.Version] = from
			migrateTo(t, provider, m.Version)
			row := fmt.Sprint(rows(t, pool, `SELECT version, runs_from FROM sqluice_schema_versions ORDER BY version DESC LIMIT 1`))
			if want := fmt.Sprintf("[[%d %d]]", m.Version, from); row != want {
				t.Errorf("%s leaves the row %s, its text says %s", m.Name, row, want)
			}
			migrateTo(t, provider, m.Version-1)
			if m.Version > migration.Recorded {
				if n := scan[int64](t, pool, fmt.Sprintf(`SELECT COUNT(*) FROM sqluice_schema_versions WHERE version = %d`, m.Version)); n != 0 {
					t.Errorf("the down of %s leaves its row", m.Name)
				}
			}
			migrateTo(t, provider, m.Version)
		}
	})
}

// A table of jobs with another default was made by an earlier build: the migrations refuse it by name, before they change anything.
func TestAnEarlierBuildIsRefused(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, provider := e.at(t, migration.Recorded-1)
		if e.name == "sqlite" {
			mustExec(t, pool, `PRAGMA writable_schema = on`)
			mustExec(t, pool, `UPDATE sqlite_schema SET sql = replace(sql, 'DEFAULT 0,    -- the job fails', 'DEFAULT 25,   -- the job fails') WHERE name = 'sqluice_jobs'`)
			mustExec(t, pool, `PRAGMA writable_schema = reset`)
		} else {
			mustExec(t, pool, `ALTER TABLE sqluice_jobs ALTER COLUMN max_attempts SET DEFAULT 25`)
		}
		before := e.dump(t, pool)
		_, err := provider.Up(t.Context())
		if err == nil || !strings.Contains(err.Error(), "a queue of an earlier build of sqluice") ||
			!strings.Contains(err.Error(), "max_attempts is not 0, but 25") {
			t.Errorf("Up gives %v", err)
		}
		if after := e.dump(t, pool); after != before {
			t.Errorf("the schema is\n%s\nno longer\n%s", after, before)
		}
	})
}
