package trial

import (
	"bufio"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A parameter of a statement costs at most four files.
func TestParameter(t *testing.T) {
	tree := copyTree(t)
	wantFiles(t, tree.change("parameter"), 4)
	tree.run("make", "generate")
	tree.run("go", "test", "-short", "./sql", "-run", "Plan|Schema", "-update")
	tree.run("go", "vet", "./jobs/...", "./internal/queue/...")
	tree.run("go", "test", "-short", "./jobs/sqlite", "-run", "TestConformance/(Order|Claim)")
}

// A column costs at most fifteen files, two of them for the claims of jobs with a limit key, and is kept on every way that a job takes.
func TestColumn(t *testing.T) {
	tree := copyTree(t)
	wantFiles(t, tree.change("column"), 15)
	tree.run("make", "generate")
	tree.run("go", "test", "-short", "./sql", "-run", "Plan|Schema", "-update")
	tree.run("go", "vet", "./...")
	tree.run("go", "test", "-short", "./jobs", "-run", "TestEveryColumnIsSet")
	tree.run("go", "test", "-short", "./jobs/sqlite", "./jobs/postgres", "-run", "TestConformance/Columns")
	tree.run("go", "test", "-short", "./internal/move", "-run", "TestWith.*/EveryColumn")

	// The same with a claim that lacks the column, as if it had been forgotten.
	const columns = `z.name = sqluice_jobs.kind))
RETURNING id, kind, payload, priority, run_after, start_by, attempt, uncounted, max_attempts, crashes, timeout,
          unique_key, request_id, user_id, tags, metadata, `
	tree.replace("sql/queries/sqlite/claim.sql", columns+"tenant, ", columns)
	tree.run("go", "run", "-tags", "tools", "github.com/sqlc-dev/sqlc/cmd/sqlc", "generate")
	if _, err := tree.try("go", "run", "./internal/gentypes"); err == nil {
		if out, err := tree.try("go", "build", "./..."); err == nil {
			t.Errorf("a claim without the column compiles:\n%s", out)
		}
	}
}

func wantFiles(t *testing.T, files []string, most int) {
	t.Helper()
	t.Logf("%d files: %s", len(files), strings.Join(files, ", "))
	if len(files) > most {
		t.Errorf("the change needs %d files, more than %d", len(files), most)
	}
}

// tree is a copy of the project.
type tree struct {
	*testing.T
	root string
}

func copyTree(t *testing.T) tree {
	if testing.Short() {
		t.Skip("it generates and compiles a copy of the tree")
	}
	root := t.TempDir()
	if err := os.CopyFS(root, sources{os.DirFS("../../..")}); err != nil {
		t.Fatal(err)
	}
	return tree{t, root}
}

// sources leaves out files that are not the project's own.
type sources struct{ fs.FS }

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && !e.Type().IsRegular() || slices.Contains([]string{".git", "node_modules", "results"}, e.Name())
	}), err
}

// change makes the edits of a folder, and returns the files.
func (x tree) change(folder string) (files []string) {
	x.Helper()
	edits, err := os.Open(filepath.Join("testdata", folder, "edits.txt"))
	if err != nil {
		x.Fatal(err)
	}
	defer edits.Close()
	var file, old string
	lines := bufio.NewScanner(edits)
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		rest = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(rest)
		switch verb {
		case "file":
			file, files = rest, append(files, rest)
		case "old":
			old = rest
		case "new":
			x.replace(file, old, rest)
		}
	}
	if err := lines.Err(); err != nil {
		x.Fatal(err)
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		if text, err := os.ReadFile(filepath.Join("testdata", folder, engine+".sql")); err == nil {
			files = append(files, x.migration(engine, string(text)))
		}
	}
	return files
}

// replace puts a text in place of another one, wherever a file has it.
func (x tree) replace(file, old, text string) {
	x.Helper()
	have, err := os.ReadFile(filepath.Join(x.root, file))
	if err != nil {
		x.Fatal(err)
	}
	if !strings.Contains(string(have), old) {
		x.Fatalf("%s does not have %q", file, old)
	}
	x.write(file, strings.ReplaceAll(string(have), old, text))
}

func (x tree) write(file, text string) {
	x.Helper()
	if err := os.WriteFile(filepath.Join(x.root, file), []byte(text), 0o644); err != nil {
		x.Fatal(err)
	}
}

var view = regexp.MustCompile(`(?s)CREATE VIEW sqluice_jobs_readable AS.*?;`)

// migration adds a migration with the next number, and returns its path. In place of @view it has the view for people as the last
// migration made it, in place of @newview that view with the new column.
func (x tree) migration(engine, text string) string {
	x.Helper()
	names, err := filepath.Glob(filepath.Join(x.root, "sql/migrations", engine, "*.sql"))
	if err != nil {
		x.Fatal(err)
	}
	slices.Sort(names)
	last := ""
	for _, name := range names {
		have, err := os.ReadFile(name)
		if err != nil {
			x.Fatal(err)
		}
		up, _, _ := strings.Cut(string(have), "-- +goose Down")
		if made := view.FindString(up); made != "" {
			last = made
		}
	}
	text = strings.ReplaceAll(text, "@view", last)
	text = strings.ReplaceAll(text, "@newview", strings.Replace(last, "metadata,", "metadata, tenant,", 1))
	file := filepath.Join("sql/migrations", engine, "20261128130000_tenant.sql")
	x.write(file, text)
	return file
}

// run runs a command in the copy, which must succeed.
func (x tree) run(name string, args ...string) {
	x.Helper()
	if out, err := x.try(name, args...); err != nil {
		x.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func (x tree) try(name string, args ...string) (string, error) {
	c := exec.CommandContext(context.WithoutCancel(x.Context()), name, args...)
	c.Dir = x.root
	out, err := c.CombinedOutput()
	return string(out), err
}
