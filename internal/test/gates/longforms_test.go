package gates_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A package with tests that the short form leaves out, or makes shorter, is in a line of .ci/run that runs the long form. The tests of
// internal/test/conformance are those of the engines.
func TestLongFormsRun(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(root(t), ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []*regexp.Regexp
	for _, match := range regexp.MustCompile(`(?m)^long "[^"]+" ONLY='([^']+)'`).FindAllStringSubmatch(string(script), -1) {
		lines = append(lines, regexp.MustCompile(match[1]))
	}
	if len(lines) < 3 {
		t.Fatalf(".ci/run has %d lines that run the long form", len(lines))
	}
	shortens := regexp.MustCompile(`\btesting\.Short\(\)|\btestdb\.TakesLong\(`)
	found := map[string]bool{}
	for _, s := range written(t) {
		folder := filepath.ToSlash(filepath.Dir(s.path))
		if folder == "internal/test/testdb" || folder == "internal/test/gates" || !strings.HasSuffix(s.path, ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(t), s.path))
		if err != nil {
			t.Fatal(err)
		}
		if !shortens.Match(text) {
			continue
		}
		if folder == "internal/test/conformance" {
			folder = "jobs/sqlite"
		}
		found[folder] = true
	}
	for folder := range found {
		runs := false
		for _, line := range lines {
			runs = runs || line.MatchString("/"+folder)
		}
		if !runs {
			t.Errorf("%s has tests that .ci/run does not run in their long form", folder)
		}
	}
	if len(found) < 10 {
		t.Errorf("only %d packages with a long form were found", len(found))
	}
}
