package sql_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
	sqluice "github.com/sqluice/sqluice/sql"
)

const goldenHeader = "-- Written by `go test ./sql -update` from the migrated database: what the migrations add up to. DO NOT EDIT.\n"

func TestSchemaIsGolden(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, _ := e.at(t, 0)
		compareGolden(t, "schema/"+e.name+".sql", goldenHeader+e.dump(t, pool))
	})
}

// The numbers and names of the migrations are the versions that programs and people speak of.
func TestEnginesHaveTheSameMigrations(t *testing.T) {
	names := func(engine string) []string {
		entries, err := fs.ReadDir(sqluice.Migrations, "migrations/"+engine)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, entry := range entries {
			list = append(list, entry.Name())
		}
		return list
	}
	sqlite, postgres := names("sqlite"), names("postgres")
	if !slices.Equal(sqlite, postgres) {
		t.Errorf("the migrations differ:\nSQLite     %v\nPostgreSQL %v", sqlite, postgres)
	}
	for i, name := range sqlite {
		if timeStamp.MatchString(name) {
			break // the next migrations belong to the owner of this copy
		}
		if !strings.HasPrefix(name, fmt.Sprintf("%05d_", i+1)) || !strings.HasSuffix(name, ".sql") {
			t.Errorf("migration %d is called %s: numbers rise by one from 00001", i+1, name)
		}
	}
}

// timeStamp matches the name of a migration in the owner's range, which sorts after those of the project.
var timeStamp = regexp.MustCompile(`^20\d{12}_\w+\.sql$`)

// Every version can be migrated up to, down from and up to again, and is the same each time.
func TestMigrationsGoUpDownUp(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool := e.empty(t)
		provider := testdb.Goose(t, e.dialect, pool)
		before := e.dump(t, pool)
		previous := int64(0)
		for _, source := range provider.ListSources() {
			version := source.Version
			migrateTo(t, provider, version)
			up := e.dump(t, pool)
			migrateTo(t, provider, previous)
			if down := e.dump(t, pool); down != before {
				t.Errorf("down from version %d is not version %d:\n%s\nbut was\n%s", version, previous, down, before)
			}
			migrateTo(t, provider, version)
			if again := e.dump(t, pool); again != up {
				t.Errorf("version %d is not the same the second time:\n%s\nbut was\n%s", version, again, up)
			}
			before, previous = up, version
		}
	})
}

// The table of jobs documents its columns: on SQLite in the text that .schema prints, on PostgreSQL in comments.
func TestTheTableOfJobsIsDocumented(t *testing.T) {
	e := sqliteEngine()
	pool, _ := e.at(t, 0)
	text := scan[string](t, pool, `SELECT sql FROM sqlite_schema WHERE name = 'sqluice_jobs'`)
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) > 140 {
			t.Errorf("%d characters are too many for a line: %s", len(line), line)
		}
	}
	for _, group := range []string{"What to do.", "When to do it", "By which worker.", "For which caller.", "What came of it.", "The rules."} {
		if !strings.Contains(text, "-- "+group) {
			t.Errorf("the table has no group %q", group)
		}
	}
	e = postgresEngine(t)
	pool, _ = e.at(t, 0)
	for _, row := range rows(t, pool, `SELECT attname FROM pg_attribute WHERE attrelid = CAST('sqluice_jobs' AS regclass) AND attnum > 0
		AND col_description(attrelid, attnum) IS NULL`) {
		t.Errorf("the column %s has no comment", row[0])
	}
}

// No line of a migration is longer than a screen is wide.
func TestMigrationsHaveShortLines(t *testing.T) {
	err := fs.WalkDir(sqluice.Migrations, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sqluice.Migrations, path)
		for i, line := range strings.Split(string(text), "\n") {
			if len(line) > 140 {
				t.Errorf("%s:%d has %d characters", path, i+1, len(line))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// To undo the migration that made moves would open a queue that is closed, by goose as well as by sqluice.
func TestMovesOutlastDown(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, provider := e.at(t, 8)
		mustExec(t, pool, `INSERT INTO sqluice_moves (direction, token, peer, started_at) VALUES ('out', 't moved', 'elsewhere', 0)`)
		before := e.dump(t, pool)
		_, err := provider.DownTo(t.Context(), 7)
		if err == nil || !strings.Contains(err.Error(), "closed by a move: reopen it first") {
			t.Fatalf("to undo the migration gives %v", err)
		}
		if after := e.dump(t, pool); after != before {
			t.Errorf("the schema is\n%s\nno longer\n%s", after, before)
		}
		if n := scan[int64](t, pool, `SELECT COUNT(*) FROM sqluice_moves`); n != 1 {
			t.Errorf("%d rows are left", n)
		}
		mustExec(t, pool, `DELETE FROM sqluice_moves`)
		migrateTo(t, provider, 7)
	})
}

// dumpSQLite returns the text of everything that has a definition, except goose's own table.
func dumpSQLite(t *testing.T, pool *sql.DB) string {
	t.Helper()
	var dump strings.Builder
	for _, row := range rows(t, pool, `
		SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND tbl_name <> ? AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
		ORDER BY CASE type WHEN 'table' THEN 1 WHEN 'index' THEN 2 WHEN 'view' THEN 3 ELSE 4 END, name`, testdb.VersionTable) {
		// SQLite quotes the name of a renamed table.
		text := strings.Replace(row[0].(string), `CREATE TABLE "sqluice_jobs"`, "CREATE TABLE sqluice_jobs", 1)
		fmt.Fprintf(&dump, "\n%s;\n", text)
	}
	return dump.String()
}

// dumpPostgres writes the catalogue in a form that does not depend on the tool or the server's version.
func dumpPostgres(t *testing.T, pool *sql.DB) string {
	t.Helper()
	var dump strings.Builder
	table := ""
	for _, row := range rows(t, pool, `
		SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
		       CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
		       || CASE a.attidentity WHEN 'd' THEN ' GENERATED BY DEFAULT AS IDENTITY' WHEN 'a' THEN ' GENERATED ALWAYS AS IDENTITY' ELSE '' END
		       || COALESCE(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')
		FROM pg_class AS c
		JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> $1
		ORDER BY c.relname, a.attnum`, testdb.VersionTable) {
		if row[0].(string) != table {
			table = row[0].(string)
			fmt.Fprintf(&dump, "\nTABLE %s\n", table)
		}
		fmt.Fprintf(&dump, "    %s %s%s\n", row[1:]...)
	}
	for _, part := range []struct{ title, query string }{
		{"CONSTRAINTS", `SELECT r.relname || ' ' || o.conname || ': ' || pg_get_constraintdef(o.oid) FROM pg_constraint AS o
			JOIN pg_class AS r ON r.oid = o.conrelid
			WHERE r.relnamespace = 'public'::regnamespace AND o.contype <> 'n' AND r.relname <> $1 ORDER BY 1`},
		{"INDEXES", `SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> $1 ORDER BY indexname`},
		{"TRIGGERS", `SELECT pg_get_triggerdef(g.oid) FROM pg_trigger AS g JOIN pg_class AS r ON r.oid = g.tgrelid
			WHERE NOT g.tgisinternal AND r.relname <> $1 ORDER BY 1`},
		{"FUNCTIONS", `SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p
			WHERE p.pronamespace = 'public'::regnamespace AND p.proname <> $1 ORDER BY 1`},
		{"VIEWS", `SELECT viewname || ' AS' || definition FROM pg_views WHERE schemaname = 'public' AND viewname <> $1 ORDER BY 1`},
	} {
		list := rows(t, pool, part.query, testdb.VersionTable)
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(&dump, "\n%s\n", part.title)
		for _, row := range list {
			fmt.Fprintf(&dump, "%s\n", schemaless.Replace(row[0].(string)))
		}
	}
	return dump.String()
}

// Newer servers leave out the table's name in a view of one table.
var schemaless = strings.NewReplacer("public.", "", "    sqluice_jobs.", "    ", "(sqluice_jobs.", "(", "SELECT sqluice_jobs.", "SELECT ")
