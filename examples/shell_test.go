package examples_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// onSQLite holds pages whose commands are for SQLite alone, onPostgres for PostgreSQL alone. All others run on both engines.
var (
	onSQLite   = map[string]bool{"docs/operate.md": true, "docs/sqlite.md": true, "docs/api.md": true, "docs/languages.md": true}
	onPostgres = map[string]bool{"docs/postgres.md": true}
)

// Every command of every page runs: those of a page one after the other, in a new folder and a new database. A file in testdata/pages
// prepares the objects of a page. A fence with a note "not run" says why, and must at least be a script.
func TestShellSnippets(t *testing.T) {
	programs := t.TempDir()
	for _, program := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("NOT TESTED: the commands of the pages: %v", err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(programs, "sqluice"), "../cmd/sqluice")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	for _, page := range pages(t) {
		script := scriptOf(t, page)
		if script == "" {
			continue
		}
		if !onPostgres[page] {
			t.Run(page+" on SQLite", func(t *testing.T) {
				t.Parallel()
				runScript(t, programs, page, script, "jobs.db")
			})
		}
		if !onSQLite[page] {
			t.Run(page+" on PostgreSQL", func(t *testing.T) {
				t.Parallel()
				url := shared.Postgres(t).Database(t)
				if output, err := command(t, programs, "sqluice up", url).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, output)
				}
				runScript(t, programs, page, script, url)
			})
		}
	}
}

// scriptOf returns the fences of a page as one script, or "". It fails the test for one that is no script.
func scriptOf(t *testing.T, page string) string {
	t.Helper()
	var script strings.Builder
	for _, fence := range fences(t, page) {
		if fence.Language != "sh" {
			continue
		}
		check := exec.CommandContext(t.Context(), "bash", "-n")
		check.Stdin = strings.NewReader(fence.Text)
		if output, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s:%d is no script: %s", page, fence.Line, output)
		}
		if reason, isLeftOut := strings.CutPrefix(fence.Note, "not run: "); isLeftOut {
			t.Logf("not run: %s:%d: %s", page, fence.Line, reason)
			continue
		}
		fmt.Fprintf(&script, ": %s:%d\n%s", page, fence.Line, fence.Text)
	}
	return script.String()
}

// runScript runs a script in a new folder, after the preparation of its page.
func runScript(t *testing.T, programs, page, script, database string) {
	t.Helper()
	var text strings.Builder
	for _, file := range []string{"prelude.sh", strings.TrimSuffix(filepath.Base(page), ".md") + ".sh"} {
		part, err := os.ReadFile(filepath.Join("testdata", "pages", file))
		if err != nil && (file == "prelude.sh" || !os.IsNotExist(err)) {
			t.Fatal(err)
		}
		text.Write(part)
	}
	text.WriteString("set -x\n" + script)
	cmd := command(t, programs, "", database)
	moved := database
	if page == "docs/operate.md" { // it moves the queue to a new database
		moved = shared.Postgres(t).Database(t)
		if output, err := command(t, programs, "sqluice up", moved).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	}
	cmd.Args = []string{"bash", "-c", strings.NewReplacer("/var/lib/app/", cmd.Dir+"/", "/backup/", cmd.Dir+"/backup/",
		"postgres://app:secret@db.example/app", database, "postgres://app@db.example/app", moved).Replace(text.String())}
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// command returns a command of bash in a new folder, with the built command in its path.
func command(t *testing.T, programs, line, database string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", line)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+programs+string(filepath.ListSeparator)+os.Getenv("PATH"), "SQLUICE_DB="+database)
	return cmd
}
