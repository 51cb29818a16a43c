package foreign_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// These match the fault and the remedy.
var (
	refusedPool = regexp.MustCompile(`(?m)^New: the pool's driver, \S+, runs in another build of SQLite .* Open the pool with modernc.org/sqlite, .*$`)
	refusedTx   = regexp.MustCompile(`(?m)^Tx: .*the transaction's connection runs in another build of SQLite .* Open the pool with modernc.org/sqlite, .*$`)
)

func TestAnotherBuildOfSQLiteIsRefused(t *testing.T) {
	t.Run("ncruces", func(t *testing.T) {
		if output, err := run(t, "./ncruces"); err != nil || !refusedPool.MatchString(output) {
			t.Errorf("%v\n%s", err, output)
		}
	})
	t.Run("mattn", func(t *testing.T) {
		needC(t)
		t.Setenv("CGO_ENABLED", "1") // with the tags, cgo changes no other package, so that none is compiled once more
		if output, err := run(t, "-tags=mattn,netgo,osusergo", "./mattn"); err != nil || !refusedPool.MatchString(output) || !refusedTx.MatchString(output) {
			t.Errorf("%v\n%s", err, output)
		}
	})
}

// No code of the queue's can prevent this, as it happens before any: docs/recipes.md says what to do.
func TestADriverThatIsRegisteredTwicePanics(t *testing.T) {
	output, err := run(t, "./glebarez")
	if err == nil || !strings.Contains(output, "panic: sql: Register called twice for driver sqlite\n") || strings.Contains(output, "New:") {
		t.Errorf("%v\n%s", err, output)
	}
}

// run builds a program, runs it and returns its output and its error.
func run(t *testing.T, build ...string) (string, error) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if output, err := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", program}, build...)...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	output, err := exec.CommandContext(t.Context(), program).CombinedOutput()
	return string(output), err
}

// needC ends a test that cannot run without a C compiler, or fails it where CI=true.
func needC(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it compiles SQLite's C source")
	}
	output, err := exec.CommandContext(t.Context(), "go", "env", "CC").Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath(strings.TrimSpace(string(output))); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no C compiler, which CI must have")
	}
	t.Skip("NOT TESTED with mattn's driver, which needs a C compiler")
}
