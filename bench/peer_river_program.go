//go:build !riverpostgres

package main

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
)

// River on PostgreSQL is measured in the newest version of River, which this program cannot be built with because of
// riversqlite. Its worker processes are this program too, built with river.mod instead of go.mod and with the tag
// riverpostgres. It is built when it is first needed, from the folder in which the benchmarks run.

//go:embed river.mod
var riverModuleFile string

// rivers returns River's contenders on both engines.
func rivers() []contender {
	program := filepath.Join("bin", "bench-river")
	list := riverOnPostgreSQL(requiredVersion(riverModuleFile, riverPostgresModule))
	for i := range list {
		list[i].command = []string{program, childArg}
		list[i].can = slices.Sorted(maps.Keys(goPeer(nil).roles()))
		list[i].present = func(ctx context.Context) error { return buildRiver(ctx, program) }
	}
	return append(riverOnSQLite(), list...)
}

// requiredVersion returns the version of a module that a module file requires.
func requiredVersion(file, module string) string {
	found := regexp.MustCompile(`(?m)^\s*(?:require\s+)?` + regexp.QuoteMeta(module) + ` (v\S+)`).FindStringSubmatch(file)
	if found == nil {
		return ""
	}
	return found[1]
}

func buildRiver(ctx context.Context, program string) error {
	build := exec.CommandContext(ctx, "go", "build", "-modfile=river.mod", "-tags=riverpostgres", "-o", program, ".")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build River for PostgreSQL: %w\n%s", err, output)
	}
	return nil
}
