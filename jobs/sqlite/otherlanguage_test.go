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
	python, err := osexec.LookPath("python3")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("there is no python3 here")
	}
	must(t, err)
	store, client := queue(t)
	out, err := osexec.CommandContext(t.Context(), python, "testdata/run.py", store.path, "testdata/other_language.sql").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	conformance.OtherLanguage(t, client)
}
