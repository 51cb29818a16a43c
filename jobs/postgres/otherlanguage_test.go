package postgres

import (
	"os"
	osexec "os/exec"
	"testing"

	"github.com/sqluice/sqluice/internal/conformance"
)

// A shell script, by psql, uses each feature.
func testShell(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	conformance.OtherLanguage(t, client, program(t, "psql", "--version"),
		"--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--file", "testdata/other_language.sql", url)
}

// A program in Python, with psycopg, uses each feature.
func testPython(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	conformance.OtherLanguage(t, client, program(t, "python3", "-c", "import psycopg"), "testdata/run.py", url, "testdata/other_language.sql")
}

// program finds a program that runs with these arguments: of two, the system's may be the one that has the driver.
func program(t *testing.T, name string, arguments ...string) (path string) {
	t.Helper()
	for _, path := range []string{name, "/usr/bin/" + name} {
		if osexec.CommandContext(t.Context(), path, arguments...).Run() == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI must have %s that runs %q", name, arguments)
	}
	t.Skipf("NOT TESTED with %s: it is not here, or does not run %q", name, arguments)
	return ""
}
