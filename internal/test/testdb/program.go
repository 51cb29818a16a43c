package testdb

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// Program finds a program in another language that passes a check, by its name in the path or in /usr/bin: of two, one may lack a module.
// Without one the test is skipped, and fails where CI=true.
func Program(tb testing.TB, name string, check ...string) (path string) {
	tb.Helper()
	var all error
	for _, path := range []string{name, "/usr/bin/" + name} {
		output, err := exec.CommandContext(tb.Context(), path, check...).CombinedOutput()
		if err == nil {
			return path
		}
		all = errors.Join(all, err, errors.New(string(output)))
	}
	if os.Getenv("CI") == "true" {
		tb.Fatalf("no %s that runs %q, which CI must have: %v", name, check, all)
	}
	tb.Skipf("NOT TESTED with %s, which does not run %q: %v", name, check, all)
	return ""
}
