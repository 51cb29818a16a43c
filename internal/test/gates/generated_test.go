package gates_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/gates"
)

const (
	sqliteCode   = "db/sqlite"
	postgresCode = "db/postgres"

	sqliteOnlyCode = "db/sqliteonly"
)

// An engine's rows and parameters convert to the neutral ones field for field, so both must be the same text, without the comments on
// columns from PostgreSQL's schema, for which SQLite has no statement.
func TestEnginesHaveTheSameQuerier(t *testing.T) {
	for _, file := range []string{"querier.go", "models.go"} {
		ours := uncommented(strings.Replace(read(t, sqliteCode+"/"+file), "package sqlite\n", "package postgres\n", 1))
		if theirs := uncommented(read(t, postgresCode+"/"+file)); ours != theirs {
			t.Errorf("%s of %s and %s differ by more than the package line: %s", file, sqliteCode, postgresCode, firstDifference(ours, theirs))
		}
	}
	sqlite, postgres := structs(t, sqliteCode), structs(t, postgresCode)
	if ours, theirs := slices.Sorted(maps.Keys(sqlite)), slices.Sorted(maps.Keys(postgres)); !slices.Equal(ours, theirs) {
		t.Errorf("the types differ:\nSQLite     %v\nPostgreSQL %v", ours, theirs)
	}
	for name, text := range sqlite {
		if theirs := postgres[name]; text != theirs {
			t.Errorf("%s differs:\nSQLite     %s\nPostgreSQL %s", name, text, theirs)
		}
	}
}

var (
	commentLine = regexp.MustCompile(`(?m)^[ \t]*//.*\n`)
	alignment   = regexp.MustCompile(`[ \t]+`)
)

// uncommented returns a source text without the lines that are comments, and without the alignment, which goes by them.
func uncommented(text string) string {
	return alignment.ReplaceAllString(commentLine.ReplaceAllString(text, ""), " ")
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return as[i] + " | " + bs[i]
		}
	}
	return "one is longer"
}

// structs returns the types of a generated folder as text, except those that belong to the engine.
func structs(t *testing.T, folder string) map[string]string {
	t.Helper()
	list := map[string]string{}
	for _, file := range files(t, folder, ".go") {
		for name, text := range typesOf(t, file) {
			if name != "DBTX" && name != "Queries" {
				list[name] = text
			}
		}
	}
	return list
}

func typesOf(t *testing.T, file string) map[string]string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	ast.Inspect(tree, func(node ast.Node) bool {
		if spec, ok := node.(*ast.TypeSpec); ok {
			list[spec.Name.Name] = types.ExprString(spec.Type)
			if fields, ok := spec.Type.(*ast.StructType); ok {
				list[spec.Name.Name] = fieldsOf(fields)
			}
		}
		return true
	})
	return list
}

func fieldsOf(s *ast.StructType) string {
	var text strings.Builder
	for _, field := range s.Fields.List {
		for _, name := range field.Names {
			text.WriteString(name.Name + " " + types.ExprString(field.Type) + "; ")
		}
	}
	return text.String()
}

// sqlc generates interface{} for a parameter that it does not understand.
func TestGeneratedCodeIsTyped(t *testing.T) {
	untyped := regexp.MustCompile(`interface ?\{|\bany\b`)
	list := regexp.MustCompile(`\[\]`)
	for _, folder := range []string{sqliteCode, postgresCode, sqliteOnlyCode} {
		for name, text := range structs(t, folder) {
			if name == "Querier" {
				text = strings.TrimPrefix(text, "interface{")
			}
			if found := untyped.FindString(text); found != "" {
				t.Errorf("%s: %s has a field or argument of type %q: %s", folder, name, found, text)
			}
			if name != "Querier" && list.MatchString(text) {
				t.Errorf("%s: %s has a list, which sqlc binds wrongly beside numbered parameters: %s", folder, name, text)
			}
		}
	}
}

func TestGeneratedStatementsAreWhole(t *testing.T) {
	leftover := regexp.MustCompile(`sqlc\.|@[A-Za-z_]|/\*SLICE:`)
	var names [][]string
	for _, folder := range []string{sqliteCode, postgresCode, sqliteOnlyCode} {
		statements, err := gates.Statements(filepath.Join(root(t), folder))
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, s := range statements {
			list = append(list, s.Name)
			if found := leftover.FindString(s.SQL); found != "" {
				t.Errorf("%s: %s: sqlc left %q in the SQL", folder, s.Name, found)
			}
			numbers, err := s.Placeholders()
			if err != nil {
				t.Errorf("%s: %v", folder, err)
			}
			if len(numbers) != s.Args || s.Args > 0 && numbers[s.Args-1] != s.Args {
				t.Errorf("%s: %s has the placeholders %v and is run with %d values", folder, s.Name, numbers, s.Args)
			}
		}
		names = append(names, list)
	}
	var written []string
	for _, q := range queries(t) {
		if !q.sqliteOnly() {
			written = append(written, q.name)
		}
	}
	slices.Sort(written)
	written = slices.Compact(written)
	if !slices.Equal(names[0], written) || !slices.Equal(names[1], written) {
		t.Errorf("the statements differ:\nsql/queries %v\nSQLite      %v\nPostgreSQL  %v", written, names[0], names[1])
	}
}

func TestNeutralTypesAreUpToDate(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "gentypes")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", tool, "./internal/gentypes")
	build.Dir = root(t)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build gentypes: %v\n%s", err, output)
	}
	for _, code := range []string{sqliteCode, postgresCode, sqliteOnlyCode} {
		if err := os.CopyFS(filepath.Join(dir, code), os.DirFS(filepath.Join(root(t), code))); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"jobs/postgres", "jobs/sqlite", "internal/test/costs"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(t.Context(), tool)
	run.Dir = dir
	if output, err := run.CombinedOutput(); err != nil {
		t.Fatalf("gentypes: %v\n%s", err, output)
	}
	for _, file := range []string{"db/types.go", "db/convert.go", "jobs/sqlite/convert.go", "db/timed.go", "jobs/postgres/queries.go", "internal/test/costs/counted_test.go"} {
		fresh, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if kept := read(t, file); string(fresh) != kept {
			t.Errorf("%s is not what internal/gentypes makes of db (run `make generate`): %s", file, firstDifference(kept, string(fresh)))
		}
	}
}
