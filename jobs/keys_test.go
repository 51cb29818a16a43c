package jobs_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

func writeKeys(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadKeys(t *testing.T) {
	line := func(id string) string {
		return id + " " + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(id[:1], 32))) + "\n"
	}
	keys, err := jobs.ReadKeys(writeKeys(t, "# of 2026\r\n\n"+line("b")+"  "+line("a")))
	if err != nil || len(keys) != 2 || keys[0].ID != "b" || string(keys[0].Secret) != strings.Repeat("b", 32) || keys[1].ID != "a" {
		t.Errorf("%v, %v", keys, err)
	}
	if _, err := jobs.NewCipher(keys...); err != nil {
		t.Error(err)
	}
}

// Errors name the file and the line, and nothing of a secret.
func TestReadKeysThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "at least one",
		"# none":           "at least one",
		"a":                "line 1 must",
		"\na hidden!":      "line 2 must",
		"a hidden hidden2": "line 1 must",
	} {
		path := writeKeys(t, text)
		keys, err := jobs.ReadKeys(path)
		if keys != nil || !errors.As(err, new(*jobs.InvalidError)) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Base(path)) ||
			strings.Contains(err.Error(), "hidden") {
			t.Errorf("of %q: %v, %v", text, keys, err)
		}
	}
	for text, want := range map[string]string{"\uFEFFa b": "byte order mark", strings.Repeat("#", 1<<20+1): "at most 1048576 bytes"} {
		if _, err := jobs.ReadKeys(writeKeys(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q in %v", want, err)
		}
	}
	if _, err := jobs.ReadKeys(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
}
