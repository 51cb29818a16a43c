package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/markdown"
)

// example is one of the worked examples of docs/changing-sql.md: its fences in their order.
type example struct {
	title string
	steps []step
}

type step struct {
	markdown.Fence
	before string // the paragraph before the fence, which names files
}

func (s step) place() string { return fmt.Sprintf("docs/changing-sql.md, %q", firstLine(s.Text)) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// examples returns the worked examples of the page.
func examples(t *testing.T) (list []example) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/changing-sql.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(page), "\n## Example: ")[1:] {
		e := example{title: firstLine(section)}
		lines := strings.Split(section, "\n")
		for _, fence := range markdown.Fences(section) {
			e.steps = append(e.steps, step{fence, paragraphBefore(lines[:fence.Line-2])})
		}
		list = append(list, e)
	}
	return list
}

func paragraphBefore(lines []string) string {
	text := strings.TrimRight(strings.Join(lines, "\n"), "\n")
	return text[strings.LastIndex(text, "\n\n")+1:]
}

// checks are tests that must hold in the tree that an example has changed, by its title: files of testdata, and their folders in the tree.
var checks = map[string]string{
	"the oldest job first":                       "oldest",
	"a column that a claim hands to the handler": "region",
}

// Both examples of docs/changing-sql.md do what they say, as the page has them.
func TestExamplesOfThePage(t *testing.T) {
	list := examples(t)
	if len(list) != len(checks) {
		t.Fatalf("the page has %d examples, not %d", len(list), len(checks))
	}
	for _, e := range list {
		t.Run(e.title, func(t *testing.T) {
			tree := copyTree(t)
			for i := range e.steps {
				tree.follow(e.steps, i, tree.shell)
			}
			check, err := os.ReadFile(filepath.Join("testdata", checks[e.title], "check_test.go.txt"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(tree.root, "internal", "check"), 0o755); err != nil {
				t.Fatal(err)
			}
			tree.write("internal/check/check_test.go", string(check))
			tree.run("gofmt", "-l", "internal", "jobs", "sql")
			tree.run("go", "test", "./internal/check")
		})
	}
}

// The edits of the page fit the tree: what they replace is there. This finds a page that is out of date in the short form of the tests too.
func TestEditsOfThePageFit(t *testing.T) {
	for _, e := range examples(t) {
		t.Run(e.title, func(t *testing.T) {
			tree := tree{t, t.TempDir()}
			for _, folder := range []string{"sql/queries", "sql/migrations", "jobs", "internal/queue", "internal/test/conformance"} {
				if err := os.CopyFS(filepath.Join(tree.root, folder), os.DirFS(filepath.Join("../../..", folder))); err != nil {
					t.Fatal(err)
				}
			}
			for i := range e.steps {
				tree.follow(e.steps, i, tree.edit)
			}
		})
	}
}

// follow does what one fence of the page says. sh runs a script whose output must have the lines of the fence after it; "" is for none.
func (x tree) follow(steps []step, i int, sh func(s step, output string)) {
	x.Helper()
	switch s := steps[i]; {
	case s.Language == "sh":
		output := ""
		if i+1 < len(steps) && steps[i+1].Language == "text" {
			output = steps[i+1].Text
		}
		sh(s, output)
	case s.Language == "diff":
		x.patch(s)
	case s.Language == "sql" && strings.HasPrefix(s.Text, "-- name: "):
		x.statement(s)
	case s.Language == "sql":
		x.addMigrations(s)
	case s.Language != "text":
		x.Fatalf("%s: the trial does not know the language %q", s.place(), s.Language)
	}
}

// shell runs a script. One with an output on the page may fail: its last command is a test that shows what changed.
func (x tree) shell(s step, output string) {
	x.Helper()
	have, err := x.try("bash", "-ec", s.Text)
	if err != nil && output == "" {
		x.Fatalf("%s: %v\n%s", s.place(), err, have)
	}
	rest := have
	for line := range strings.Lines(output) {
		want := strings.Join(strings.Fields(line), " ")
		for {
			next, after, more := strings.Cut(rest, "\n")
			rest = after
			if next = strings.Join(strings.Fields(next), " "); next == want || strings.HasPrefix(next, want+" ") {
				break
			}
			if !more {
				x.Fatalf("%s: its output has no line %q, or not in this place:\n%s", s.place(), want, have)
			}
		}
	}
}

// edit runs the lines of a script that edit files. Each must change one.
func (x tree) edit(s step, _ string) {
	x.Helper()
	for line := range strings.Lines(s.Text) {
		if !strings.HasPrefix(line, "sed ") {
			continue
		}
		before := x.texts("sql/queries")
		x.run("bash", "-ec", line)
		if x.texts("sql/queries") == before {
			x.Errorf("%s: %q changes nothing", s.place(), line)
		}
	}
}

// texts returns all files of a folder as one text.
func (x tree) texts(folder string) string {
	x.Helper()
	var all strings.Builder
	for _, pattern := range []string{"*.sql", "*/*.sql"} {
		files, err := filepath.Glob(filepath.Join(x.root, folder, pattern))
		if err != nil {
			x.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				x.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

// patch makes the edits of a fence: below the name of a file, lines that go and lines that come, in parts that a line @@ divides.
func (x tree) patch(s step) {
	x.Helper()
	file, old, fresh := "", "\n", "\n"
	replace := func() {
		if old != fresh {
			x.replace(file, old, fresh)
		}
		old, fresh = "\n", "\n"
	}
	for line := range strings.Lines(s.Text) {
		switch name, isFile := strings.CutPrefix(line, "--- "); {
		case isFile:
			replace()
			file = strings.TrimSpace(name)
		case strings.HasPrefix(line, "@@"):
			replace()
		case strings.HasPrefix(line, "-"):
			old += line[1:]
		case strings.HasPrefix(line, "+"):
			fresh += line[1:]
		default:
			old += strings.TrimPrefix(line, " ")
			fresh += strings.TrimPrefix(line, " ")
		}
	}
	replace()
}

var (
	statementName = regexp.MustCompile(`^-- name: (\w+) :\w+\n`)
	migrationName = regexp.MustCompile("`(sql/migrations/(?:sqlite|postgres)/\\d{14}_\\w+\\.sql)`")
)

// statement puts a statement in place of the one with its name, in the one file that the text names.
func (x tree) statement(s step) {
	x.Helper()
	name := statementName.FindStringSubmatch(s.Text)
	file := regexp.MustCompile("`(sql/queries/[a-z/]+\\.sql)`").FindStringSubmatch(s.before)
	if name == nil || file == nil {
		x.Fatalf("%s: the text before it names no file, or the statement has no name", s.place())
	}
	have, err := os.ReadFile(filepath.Join(x.root, file[1]))
	if err != nil {
		x.Fatal(err)
	}
	whole := regexp.MustCompile(`(?s)-- name: ` + name[1] + ` :.*?;\n`)
	if len(whole.FindAll(have, -1)) != 1 {
		x.Fatalf("%s: %s has not one statement %s", s.place(), file[1], name[1])
	}
	x.write(file[1], whole.ReplaceAllLiteralString(string(have), s.Text))
}

// addMigrations writes a migration to the files that the text before it names.
func (x tree) addMigrations(s step) {
	x.Helper()
	files := migrationName.FindAllStringSubmatch(s.before, -1)
	if files == nil {
		x.Fatalf("%s: the text before it names no migration", s.place())
	}
	for _, file := range files {
		x.write(file[1], s.Text)
	}
}
