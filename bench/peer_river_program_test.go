//go:build !riverpostgres

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func TestRequiredVersion(t *testing.T) {
	const file = "module m\n\nrequire example.com/a v1.0.0\n\nrequire (\n\texample.com/a/b v1.2.3 // indirect\n\texample.com/c v4.5.6\n)\n"
	for module, want := range map[string]string{
		"example.com/a": "v1.0.0", "example.com/a/b": "v1.2.3", "example.com/c": "v4.5.6", "example.com/d": "",
	} {
		if got := requiredVersion(file, module); got != want {
			t.Errorf("%s: %q, not %q", module, got, want)
		}
	}
}

// TestRiverModuleFits fails when go.mod and river.mod differ in more than River.
func TestRiverModuleFits(t *testing.T) {
	file, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(file), -1) {
		module, version := line[1], line[2]
		if strings.HasPrefix(module, "github.com/riverqueue/") {
			continue
		}
		// Newer ones come with the newer River; modules that only the older one needs are missing.
		if got := requiredVersion(riverModuleFile, module); got != "" && got != version && !strings.HasPrefix(module, "github.com/tidwall/") {
			t.Errorf("river.mod has %s %s, go.mod %s: see peer_river_program.go", module, got, version)
		}
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-modfile=river.mod", "-tags=riverpostgres", "-deps", ".")
	if output, err := list.CombinedOutput(); err != nil {
		t.Errorf("river.mod lacks something: %v\n%s", err, output)
	}
}
