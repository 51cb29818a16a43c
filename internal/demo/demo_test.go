package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMain makes the test binary a worker when the demo under test starts it as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerCommand {
		main()
		return
	}
	os.Exit(m.Run())
}

// writeTree makes a folder of Go files that each take long enough to parse for the test to catch a worker at it.
func writeTree(t *testing.T, files int) string {
	t.Helper()
	folder := t.TempDir()
	body := strings.Repeat("func _() int { return map[string]int{\"a\": 1 + 2*3}[\"a\"] }\n", 10_000)
	for n := range files {
		writeFile(t, folder, fmt.Sprintf("p%d/big.go", n), fmt.Sprintf("package p%d\n\n%s", n, body))
	}
	writeFile(t, folder, "broken/broken.go", "package broken\n\nfunc {\n")
	writeFile(t, folder, "notes.txt", "not Go\n")
	return folder
}

func writeFile(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDemo(t *testing.T) {
	const files = 24
	folder := writeTree(t, files)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	var out bytes.Buffer
	if err := run(ctx, []string{"-workers", "2", "-slots", "2", folder}, &out, os.Stderr); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, pattern := range []string{
		`Enqueued 25 jobs, one for each \.go file of `,
		`Killed worker-[12] \(process \d+\) with SIGKILL while it held [12] jobs?; replacement takes its place\.`,
		`100 %  25 of 25 jobs`,
		`Results: 24 files parsed, 240,048 lines, 240,000 functions`,
		`Failed jobs: 1, `,
		`parse-go-file +1 +\d+ +broken/broken\.go:3:6: expected 'IDENT', found '\{'`,
		`killed while it held [12] jobs?; sqluice_job_errors has [12] crash rows?`,
		`[12] jobs? picked up: running again`,
		`25 enqueued = 24 done \+ 1 failed`,
		`lost: 0; attempts begun twice: 0; jobs completed twice: 0`,
	} {
		if !regexp.MustCompile(pattern).Match(out.Bytes()) {
			t.Errorf("no line matches %s", pattern)
		}
	}
	if t.Failed() {
		t.Logf("the output was:\n%s", &out)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestStoppedDemoCleansUp(t *testing.T) {
	folder := writeTree(t, 24)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &callOn{text: "Started 2 worker processes", call: cancel}
	if err := run(ctx, []string{"-workers", "2", folder}, out, os.Stderr); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("run returned %v, not that it was stopped", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// callOn is a writer that calls a function when it receives a text.
type callOn struct {
	text string
	call func()
}

func (c *callOn) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.text) {
		c.call()
	}
	return len(p), nil
}

func TestBadArguments(t *testing.T) {
	empty := t.TempDir()
	for _, test := range []struct {
		name string
		args []string
		want string
		code int
	}{
		{"unknown flag", []string{"-frob"}, "flag provided but not defined: -frob", 2},
		{"one worker", []string{"-workers", "1"}, "-workers 1 must be from 2", 2},
		{"no slot", []string{"-slots", "0"}, "-slots 0 must be from 1", 2},
		{"two folders", []string{"a", "b"}, "2 folders given", 2},
		{"no Go file", []string{empty}, "holds no .go file", 1},
		{"no folder", []string{filepath.Join(empty, "missing")}, "missing", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := run(t.Context(), test.args, t.Output(), os.Stderr)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v does not say %q", err, test.want)
			}
			if code := exitCode(err); code != test.code {
				t.Errorf("exit code %d, not %d, for %v", code, test.code, err)
			}
		})
	}
}
