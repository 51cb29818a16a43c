package sqlite_test

import (
	"testing"

	"github.com/sqluice/sqluice/internal/test/conformance"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// A program in Python, with the SQLite that it brings along, uses each feature.
func TestPython(t *testing.T) {
	t.Parallel()
	store := testdb.SQLite(t)
	conformance.OtherLanguage(t, jobs.New(store), testdb.Program(t, "python3", "-c", "import sqlite3"),
		"testdata/run.py", store.Path(), "testdata/other_language.sql")
}

// A shell script, by SQLite's own command, uses each feature.
func TestShell(t *testing.T) {
	t.Parallel()
	store := testdb.SQLite(t)
	conformance.OtherLanguage(t, jobs.New(store), "sh", "-c", `"$0" -bail "$1" <testdata/other_language.sql`,
		testdb.Program(t, "sqlite3", "--version"), store.Path())
}
