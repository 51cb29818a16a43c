package gates_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/gates"
)

// architecture returns the text of docs/architecture.md.
func architecture(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section returns the text below a heading of docs/architecture.md, up to the next heading of its level.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(architecture(t), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("docs/architecture.md has no heading %q", heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

// namedFile is a path in backquotes: a file of this module, or a folder.
var namedFile = regexp.MustCompile("`((?:cmd|admin|metrics|telemetry|jobs|internal|db|sql)/[a-z0-9_/.]+)`")

// The files that docs/architecture.md names exist.
func TestArchitectureNamesFilesThatExist(t *testing.T) {
	names := namedFile.FindAllStringSubmatch(architecture(t), -1)
	if len(names) < 50 {
		t.Errorf("it names %d files: the pattern fits too few", len(names))
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(root(t), name[1])); err != nil {
			t.Errorf("docs/architecture.md names %s: %v", name[1], err)
		}
	}
}

var (
	// namedPlace is an identifier with the files that declare it: `ClaimJobs` in `a.sql` and `b.sql`, or `A` and `B` in `a.go`.
	namedPlace = regexp.MustCompile("(`\\w+`(?: and `\\w+`)*) in (`[a-z0-9_/.]+`(?: and `[a-z0-9_/.]+`)*)")
	inQuotes   = regexp.MustCompile("`([^`]+)`")
)

// place is an identifier and a file that declares it.
type place struct{ identifier, file string }

// placesOf returns the places that a cell of the table names.
func placesOf(cell string) (places []place) {
	for _, match := range namedPlace.FindAllStringSubmatch(cell, -1) {
		for _, identifier := range inQuotes.FindAllStringSubmatch(match[1], -1) {
			for _, file := range inQuotes.FindAllStringSubmatch(match[2], -1) {
				places = append(places, place{identifier[1], file[1]})
			}
		}
	}
	return places
}

// The table "Where is X" names files that declare the objects of their rows.
func TestArchitectureNamesPlacesThatExist(t *testing.T) {
	found := declarations(t)
	rows := 0
	for line := range strings.Lines(section(t, "Where is X")) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], " ---") || strings.HasPrefix(cells[1], " question") {
			continue
		}
		rows++
		question := strings.TrimSpace(cells[1])
		places := placesOf(cells[2])
		if len(places) == 0 {
			t.Errorf("docs/architecture.md: the row %q names no place: write `identifier` in `file`", question)
		}
		for _, p := range places {
			if fault := faultOfPlace(root(t), found, p); fault != "" {
				t.Errorf("docs/architecture.md: the row %q names `%s` in `%s`: %s", question, p.identifier, p.file, fault)
			}
		}
	}
	if rows < 17 {
		t.Errorf("the table \"Where is X\" has %d rows, not 17 or more", rows)
	}
}

// faultOfPlace returns the fault of a place and the remedy for its row, or "".
func faultOfPlace(root string, found map[string][]string, p place) string {
	if slices.Contains(found[p.identifier], p.file) {
		return ""
	}
	fault := "the file does not declare it"
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(p.file))); err != nil {
		fault = "there is no such file"
	}
	if files := found[p.identifier]; len(files) > 0 {
		return fmt.Sprintf("%s; update the row: the identifier is declared in %s", fault, strings.Join(files, ", "))
	}
	return fault + "; no file declares the identifier: write the row anew"
}

func TestBadPlacesAreFound(t *testing.T) {
	found := declarations(t)
	for _, test := range []struct{ identifier, file, wanted string }{
		{"withDefaults", "jobs/config.go", ""},
		{"ClaimJobs", "sql/queries/sqlite/claim.sql", ""},
		{"scheduler", "internal/queue/maintenance/scheduler.go", ""},
		{"withDefaults", "jobs/client.go", "declared in jobs/config.go"},
		{"withDefaults", "jobs/nothing.go", "there is no such file; update the row"},
		{"noSuchIdentifier", "jobs/config.go", "no file declares the identifier"},
	} {
		fault := faultOfPlace(root(t), found, place{test.identifier, test.file})
		if (fault == "") != (test.wanted == "") || !strings.Contains(fault, test.wanted) {
			t.Errorf("%s in %s: fault %q, not %q", test.identifier, test.file, fault, test.wanted)
		}
	}
	cell := "`A` and `B` in `a.go`, `C` in `b.sql` and `c.sql`"
	if got, want := placesOf(cell), []place{{"A", "a.go"}, {"B", "a.go"}, {"C", "b.sql"}, {"C", "c.sql"}}; !slices.Equal(got, want) {
		t.Errorf("%s names %v, not %v", cell, got, want)
	}
}

var queryName = regexp.MustCompile(`(?m)^-- name: (\w+) `)

// declarations maps each identifier to the files that declare it: functions, methods, types, constants and variables of the packages that
// people change, and the queries of sql.
func declarations(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	add := func(identifier, file string) {
		if !slices.Contains(found[identifier], file) {
			found[identifier] = append(found[identifier], file)
		}
	}
	for _, folder := range []string{"jobs", "internal/queue", "cmd", "admin", "metrics", "telemetry", "sql"} {
		for _, suffix := range []string{".go", ".sql"} {
			files, err := gates.Files(root(t), folder, suffix)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if !strings.HasSuffix(file, "_test.go") {
					addDeclarations(t, file, add)
				}
			}
		}
	}
	return found
}

// addDeclarations calls add with each identifier that a file declares.
func addDeclarations(t *testing.T, file string, add func(identifier, file string)) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(file, ".sql") {
		for _, match := range queryName.FindAllStringSubmatch(string(text), -1) {
			add(match[1], file)
		}
		return
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range tree.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			add(d.Name.Name, file)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(s.Name.Name, file)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						add(name.Name, file)
					}
				}
			}
		}
	}
}

// drawnLine is a line of the drawing of internal/queue: a package, its task, and after an arrow the packages that it calls.
var drawnLine = regexp.MustCompile(`^(\S+)  +\S.*?(?:-> (.*))?$`)

// drawing returns the packages of the drawing from the top down, and the packages of internal/queue that each calls.
func drawing(t *testing.T) (order []string, calls map[string][]string) {
	t.Helper()
	_, after, _ := strings.Cut(section(t, "Inside internal/queue"), "```text\n")
	text, _, _ := strings.Cut(after, "```")
	calls = map[string][]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		match := drawnLine.FindStringSubmatch(line)
		switch {
		case strings.TrimSpace(line) == "|":
		case match != nil:
			order = append(order, match[1])
			calls[match[1]] = strings.Fields(match[2])
		case strings.HasPrefix(line, " ") && len(order) > 0: // the rest of the line before it
			last := order[len(order)-1]
			calls[last] = append(calls[last], strings.Fields(line)...)
		default:
			t.Errorf("docs/architecture.md: the drawing of internal/queue has the line %q, which is no package with its task", line)
		}
	}
	return order, calls
}

// The drawing of internal/queue has every package and its calls, and all calls go down.
func TestTheDrawingIsTheImports(t *testing.T) {
	order, calls := drawing(t)
	imports := queueImports(t)
	for name, called := range imports {
		drawn, isDrawn := calls[name]
		slices.Sort(drawn)
		if !isDrawn || !slices.Equal(drawn, called) {
			t.Errorf("docs/architecture.md, drawing of internal/queue: its line must be %s  (task)  -> %s", name, strings.Join(called, " "))
		}
	}
	for i, name := range order {
		if _, exists := imports[name]; !exists {
			t.Errorf("docs/architecture.md, drawing of internal/queue: %s calls no package of internal/queue, or is none: remove its line", name)
		}
		for _, called := range calls[name] {
			if slices.Index(order, called) <= i {
				t.Errorf("docs/architecture.md, drawing of internal/queue: %s calls %s, which must stand below it", name, called)
			}
		}
	}
}

// queueImports maps each package of internal/queue, and each package outside that people use and that imports one, to the packages of
// internal/queue that it imports, sorted.
func queueImports(t *testing.T) map[string][]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`,
		"./internal/queue/...", "./jobs/...", "./admin/...", "./metrics/...", "./telemetry/...", "./cmd/...")
	command.Dir = root(t)
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	const queue = module + "/internal/queue/"
	imports := map[string][]string{}
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		called := []string{}
		for _, imported := range fields[1:] {
			if name, isQueue := strings.CutPrefix(imported, queue); isQueue {
				called = append(called, name)
			}
		}
		slices.Sort(called)
		name, isQueue := strings.CutPrefix(fields[0], queue)
		if !isQueue && len(called) == 0 {
			continue
		}
		imports[strings.TrimPrefix(name, module+"/")] = called
	}
	return imports
}
