package tsclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

const token = "a token of some length"

// TestClient lets a program in TypeScript make every kind of request at a separate server.
func TestClient(t *testing.T) {
	folder := build(t)
	store := testdb.SQLite(t)
	url := serve(t, store.Path())
	client := exec.CommandContext(t.Context(), "node", "out/client.js", url, token)
	client.Dir = folder
	client.Stderr = t.Output()
	said, err := client.StdoutPipe()
	must(t, err)
	answers, err := client.StdinPipe()
	must(t, err)
	must(t, client.Start())
	var did []string
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if step, found := strings.CutPrefix(lines.Text(), "did "); found {
			did = append(did, step)
			continue
		}
		if lines.Text() != "drain" {
			t.Errorf("the client says %q", lines.Text())
		}
		drain(t, jobs.New(store))
		if _, err := io.WriteString(answers, "drained\n"); err != nil {
			t.Error(err)
		}
	}
	if err := client.Wait(); err != nil {
		t.Errorf("after %q the client ends with %v", did, err)
	}
	if want := "enqueueAndList pauseAndWhy failAndRetry bulk problems schedules limits events"; strings.Join(did, " ") != want {
		t.Errorf("the client did %q, not %q", did, want)
	}
}

// build makes the client in a separate folder: the types, and the program, which must be well typed.
func build(t *testing.T) (folder string) {
	t.Helper()
	folder = modules(t, "tsconfig.json", "client.ts")
	contract, err := filepath.Abs("../../../admin/openapi.json")
	must(t, err)
	for _, args := range [][]string{
		{"node_modules/openapi-typescript/bin/cli.js", contract, "-o", "api.d.ts"},
		{"node_modules/typescript/bin/tsc", "-p", "."},
	} {
		if output, err := run(t, folder, "node", args...); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, output)
		}
	}
	return folder
}

// modules makes a folder with the modules that package-lock.json pins, none of whose scripts runs, and with copies of
// files.
func modules(t *testing.T, files ...string) (folder string) {
	t.Helper()
	testdb.TakesLong(t)
	for _, program := range []string{"npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("NOT TESTED with TypeScript: %v", err)
		}
	}
	folder = t.TempDir()
	for _, name := range append(files, "package.json", "package-lock.json") {
		text, err := os.ReadFile(name)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	if output, err := run(t, folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, output)
	}
	return folder
}

// run runs a program in a folder to its end.
func run(t *testing.T, folder, program string, args ...string) (output []byte, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = folder
	return cmd.CombinedOutput()
}

// serve starts `sqluice serve`, and returns its address.
func serve(t *testing.T, path string) (url string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "sqluice")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../../cmd/sqluice").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	server := exec.Command(program, "serve", "--db", path, "--addr", "127.0.0.1:0")
	server.Env = append(os.Environ(), "SQLUICE_TOKEN="+token)
	server.Stderr = t.Output()
	said, err := server.StdoutPipe()
	must(t, err)
	must(t, server.Start())
	t.Cleanup(func() {
		must(t, server.Process.Signal(syscall.SIGTERM))
		must(t, server.Wait())
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	must(t, err)
	url, found := strings.CutSuffix(strings.TrimPrefix(strings.TrimSpace(line), "serving "), "/")
	if !found {
		t.Fatalf("the server says %q", line)
	}
	return url
}

// drain runs all due jobs, which fail.
func drain(t *testing.T, client *jobs.Client) {
	t.Helper()
	runner, err := jobs.NewRunner(client, jobs.Config{
		Queues: map[string]int{"q": 1, jobs.DefaultQueue: 1}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	must(t, err)
	jobs.Kind[json.RawMessage]{Name: "bad"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error {
		return errors.New("it is bad")
	})
	must(t, runner.Drain(t.Context()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
