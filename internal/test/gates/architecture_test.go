package gates_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// namedFile is a path in backquotes: a file of this module, or a folder.
var namedFile = regexp.MustCompile("`((?:cmd|admin|metrics|telemetry|jobs|internal|db|sql)/[a-z0-9_/.]+)`")

// What docs/architecture.md names is there.
func TestArchitectureNamesFilesThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := namedFile.FindAllStringSubmatch(string(text), -1)
	if len(names) < 50 {
		t.Errorf("it names %d files: the pattern fits too few", len(names))
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(root(t), name[1])); err != nil {
			t.Errorf("docs/architecture.md names %s: %v", name[1], err)
		}
	}
}
