package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/markdown"
)

// isWhole reports whether a fence is a program that can be pasted and run as it is.
func isWhole(fence markdown.Fence) bool {
	return fence.Language == "go" && strings.HasPrefix(fence.Text, "package main\n")
}

// The whole programs of the pages are built and run unchanged, each in an empty folder. Of SQLite only the database is left.
func TestWholePrograms(t *testing.T) {
	seen := 0
	for _, page := range pages(t) {
		for _, fence := range fences(t, page) {
			if !isWhole(fence) {
				continue
			}
			seen++
			folder := t.TempDir()
			source, program := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "program")
			if err := os.WriteFile(source, []byte(fence.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, source).CombinedOutput(); err != nil {
				t.Errorf("%s:%d: %v\n%s", page, fence.Line, err, out)
				continue
			}
			run := exec.CommandContext(t.Context(), program)
			run.Dir, run.Env = folder, os.Environ()
			if strings.Contains(fence.Text, "DATABASE_URL") {
				run.Env = append(run.Env, "DATABASE_URL="+shared.Postgres(t).Database(t))
			}
			var log strings.Builder
			run.Stderr = &log
			if out, err := run.Output(); err != nil || string(out) != "Hello, Ada\n" {
				t.Errorf("%s:%d: it prints %q, %v\n%s", page, fence.Line, out, err, log.String())
			}
			left, err := filepath.Glob(filepath.Join(folder, "*.db-*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range left {
				if !strings.HasSuffix(file, "-sqluice") { // the folder of the workers' locks
					t.Errorf("%s:%d: the program leaves %s", page, fence.Line, filepath.Base(file))
				}
			}
		}
	}
	if seen < 4 {
		t.Errorf("%d programs of the pages are whole", seen)
	}
}
