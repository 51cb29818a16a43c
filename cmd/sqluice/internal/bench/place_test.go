package bench

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
)

// The folder to which a link leads may be on another disk.
func TestThePlaceIsOnTheDiskOfTheDatabase(t *testing.T) {
	there, here := t.TempDir(), t.TempDir()
	target := filepath.Join(there, "real.db")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(here, "jobs.db")
	if err := os.Symlink(target, link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	place, err := makeFolder(t.Context(), address.Database{Path: link}, &Host{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	want, err := filepath.EvalSymlinks(there)
	if err != nil {
		t.Fatal(err)
	}
	if dir := filepath.Dir(filepath.Dir(place.database.Path)); dir != want {
		t.Errorf("it is in %s, not in %s", dir, want)
	}
	if err := place.remove(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(place.database.Path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

func TestURLParameters(t *testing.T) {
	const url = "postgres://u:p%40@h:1/n"
	for given, want := range map[string]string{
		"":                        "",
		"?schema=a":               "",
		"?sslmode=require":        "?sslmode=require",
		"?schema=a&sslmode=off":   "?sslmode=off",
		"?a=1&schema=a&b=2&poll=": "?a=1&b=2&poll=",
	} {
		if got := withoutParameters(url+given, "schema", "pgbouncer"); got != url+want {
			t.Errorf("of %s is left %s", url+given, got)
		}
	}
	if got := withParameter(withParameter(url, "a=1"), "b=2"); got != url+"?a=1&b=2" {
		t.Errorf("with parameters it is %s", got)
	}
}
