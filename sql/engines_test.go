package sql_test

import (
	"database/sql"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/sqluice/sqluice/internal/test/testdb"
)

var update = flag.Bool("update", false, "write the golden files in sql/schema anew")

// engine holds a database's name and functions, so that the tests do the same on each.
type engine struct {
	name    string // the name of its folders and files
	dialect goose.Dialect
	empty   func(t *testing.T) *sql.DB // a pool on a database without tables
	dump    func(t *testing.T, pool *sql.DB) string
}

func sqliteEngine() engine {
	return engine{
		name: "sqlite", dialect: goose.DialectSQLite3, dump: dumpSQLite,
		empty: func(t *testing.T) *sql.DB {
			return testdb.PlainSQLite(t, filepath.Join(t.TempDir(), "jobs.db"))
		},
	}
}

func postgresEngine(t *testing.T) engine {
	t.Helper()
	server := shared.Postgres(t)
	return engine{
		name: "postgres", dialect: goose.DialectPostgres, dump: dumpPostgres,
		empty: func(t *testing.T) *sql.DB { return server.Pool(t) },
	}
}

// onEachEngine runs a test on SQLite and on PostgreSQL.
func onEachEngine(t *testing.T, test func(t *testing.T, e engine)) {
	t.Run("sqlite", func(t *testing.T) { test(t, sqliteEngine()) })
	t.Run("postgres", func(t *testing.T) { test(t, postgresEngine(t)) })
}

// at returns a database at a version of the schema; 0 means the newest one.
func (e engine) at(t *testing.T, version int64) (*sql.DB, *goose.Provider) {
	t.Helper()
	pool := e.empty(t)
	provider := testdb.Goose(t, e.dialect, pool)
	if version == 0 {
		version = newest(provider)
	}
	migrateTo(t, provider, version)
	return pool, provider
}

func newest(p *goose.Provider) int64 {
	sources := p.ListSources()
	return sources[len(sources)-1].Version
}

// migrateTo migrates up or down.
func migrateTo(t *testing.T, p *goose.Provider, version int64) {
	t.Helper()
	have, err := p.GetDBVersion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if have < version {
		_, err = p.UpTo(t.Context(), version)
	} else {
		_, err = p.DownTo(t.Context(), version)
	}
	if err != nil {
		t.Fatalf("migrate from version %d to %d: %v", have, version, err)
	}
}

func mustExec(t *testing.T, pool *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := pool.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%v\n%s", err, statement)
	}
}

// scan reads one row of one column.
func scan[T any](t *testing.T, pool *sql.DB, query string, args ...any) T {
	t.Helper()
	var v T
	if err := pool.QueryRowContext(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	return v
}

// rows reads all rows of a query, each as its columns' values.
func rows(t *testing.T, pool *sql.DB, query string, args ...any) [][]any {
	t.Helper()
	result, err := pool.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	defer result.Close()
	columns, err := result.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var list [][]any
	for result.Next() {
		row, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			targets[i] = &row[i]
		}
		if err := result.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
	if err := result.Err(); err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	return list
}

// compareGolden compares a text with a golden file, or writes the file with -update.
func compareGolden(t *testing.T, file, have string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: make it with go test ./sql -update", err)
	}
	if have != string(want) {
		t.Errorf("not as sql/%s has it; go test ./sql -update writes it anew:%s", file, difference(string(want), have))
	}
}
