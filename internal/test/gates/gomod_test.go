package gates_test

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// TestGoModInstalls: `go install module@version` refuses a module whose go.mod has exclude or replace directives.
func TestGoModInstalls(t *testing.T) {
	edit := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	edit.Dir = root(t)
	text, err := edit.Output()
	if err != nil {
		t.Fatalf("go mod edit -json: %v", err)
	}
	var module struct{ Exclude, Replace []any }
	if err := json.Unmarshal(text, &module); err != nil {
		t.Fatal(err)
	}
	if len(module.Exclude) > 0 || len(module.Replace) > 0 {
		t.Errorf("go.mod excludes %v and replaces %v: require a version that can be used instead", module.Exclude, module.Replace)
	}
}
