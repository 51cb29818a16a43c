package postgres

import (
	"testing"

	"github.com/sqluice/sqluice/internal/test/conformance"
	"github.com/sqluice/sqluice/internal/test/testdb"
)

// A shell script, by psql, uses each feature.
func testShell(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	conformance.OtherLanguage(t, client, "sh", "-c", `"$0" --no-psqlrc --quiet --set ON_ERROR_STOP=1 --file testdata/other_language.sql "$1"`,
		testdb.Program(t, "psql", "--version"), url)
}

// A program in Python, with psycopg, uses each feature.
func testPython(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	conformance.OtherLanguage(t, client, testdb.Program(t, "python3", "-c", "import psycopg"), "testdata/run.py", url, "testdata/other_language.sql")
}
