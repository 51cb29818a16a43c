package sqlite

import (
	"os"
	osexec "os/exec"
	"testing"

	"github.com/sqluice/sqluice/internal/conformance"
)

// A program in Python, with the SQLite that it brings along, uses each feature.
func TestPython(t *testing.T) {
	t.Parallel()
	store, client := queue(t)
	conformance.OtherLanguage(t, client, program(t, "python3"), "testdata/run.py", store.path, "testdata/other_language.sql")
}

// A shell script, by SQLite's own command, uses each feature.
func TestShell(t *testing.T) {
	t.Parallel()
	store, client := queue(t)
	conformance.OtherLanguage(t, client, program(t, "sh"), "-c", `"$0" -bail "$1" <testdata/other_language.sql`, program(t, "sqlite3"), store.path)
}

func program(t *testing.T, name string) (path string) {
	t.Helper()
	path, err := osexec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI must have %s", name)
	}
	t.Skipf("NOT TESTED with %s: it is not here", name)
	return ""
}
