package postgres

import (
	"os"
	osexec "os/exec"
	"testing"

	"github.com/sqluice/sqluice/internal/conformance"
)

// A shell script, by psql, uses each feature.
func testShell(t *testing.T, site *site) {
	psql, err := osexec.LookPath("psql")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("there is no psql here")
	}
	must(t, err)
	_, client, url := site.queue(t)
	out, err := osexec.CommandContext(t.Context(), "sh", "-c", `"$0" --no-psqlrc --quiet --set ON_ERROR_STOP=1 --file testdata/other_language.sql "$1"`, psql, url).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	conformance.OtherLanguage(t, client)
}
