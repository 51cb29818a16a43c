package gates_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sqluice/sqluice"

// packages maps each package of the module to all that a program with it links, but for the standard library.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-e", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...")
	command.Dir = root(t)
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	list := map[string][]string{}
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		list[strings.TrimPrefix(fields[0], module+"/")] = slices.DeleteFunc(fields[1:], func(dep string) bool {
			return !strings.Contains(strings.Split(dep, "/")[0], ".")
		})
	}
	return list
}

// links says what the packages whose path matches may link beside the standard library, and what they may not. The
// first rule that matches counts. This module's own packages stand without its name.
var links = []struct{ packages, may, mayNot string }{
	{packages: `sql|db/sqlite`, may: `^$`},
	{packages: `db/postgres`, may: `^(github.com/jackc|golang.org/x)/`},
	{packages: `db`, may: `^db/sqlite$`},
	{packages: `jobs`, may: `^(db|db/sqlite|golang.org/x/sys/.*)$`},
	{packages: `jobs/sqlite`, may: `.`, mayNot: postgresParts + `|` + neverLinked},
	{packages: `jobs/postgres`, may: `.`, mayNot: sqliteParts + `|` + neverLinked},
	{packages: `admin(/.*)?`, may: `.`, mayNot: postgresParts + `|` + sqliteParts + `|` + neverLinked},
	{packages: `internal/.*`, may: `.`, mayNot: tools},
	{packages: `(cmd|examples)(/.*)?`, may: `.`, mayNot: `^internal/(testdb|gates|gentypes|conformance)(/|$)|` + tools},
}

const (
	sqliteParts   = `^modernc.org/|^jobs/sqlite$`
	postgresParts = `^github.com/jackc/|^(db|jobs)/postgres$`
	tools         = `^github.com/sqlc-dev/|^honnef.co/`
	neverLinked   = `^(cmd|internal|examples)/|^github.com/spf13/|` + tools
)

func TestImportDirection(t *testing.T) {
	list := packages(t)
	for _, needed := range []string{"sql", "db", "db/sqlite", "db/postgres", "jobs", "jobs/sqlite"} {
		if _, there := list[needed]; !there {
			t.Errorf("go list does not know package %s", needed)
		}
	}
	for name, deps := range list {
		i := slices.IndexFunc(links, func(rule struct{ packages, may, mayNot string }) bool {
			return regexp.MustCompile(`^(` + rule.packages + `)$`).MatchString(name)
		})
		if i < 0 {
			t.Errorf("package %s has no place in the layout: say in links what it may link", name)
			continue
		}
		may, mayNot := regexp.MustCompile(links[i].may), regexp.MustCompile(links[i].mayNot)
		for _, dep := range deps {
			dep = strings.TrimPrefix(dep, module+"/")
			if !may.MatchString(dep) || links[i].mayNot != "" && mayNot.MatchString(dep) {
				t.Errorf("package %s links %s", name, dep)
			}
		}
	}
}

// The generated PostgreSQL code is the engine's own business, and tests are anybody's.
func TestOnlyTheEngineImportsItsGeneratedCode(t *testing.T) {
	for _, file := range written(t) {
		for _, spec := range file.tree.Imports {
			if spec.Path.Value == `"`+module+`/db/postgres"` && !file.isTest() && !strings.HasPrefix(file.path, "jobs/postgres/") {
				t.Errorf("%s imports db/postgres", file.path)
			}
		}
	}
}

func TestOnlyPackageSQLEmbeds(t *testing.T) {
	seen := false
	for _, file := range written(t) {
		for _, group := range file.tree.Comments {
			for _, comment := range group.List {
				if !strings.HasPrefix(comment.Text, "//go:embed ") {
					continue
				}
				switch file.path {
				case "sql/embed.go":
					seen = true
				case "admin/contract.go": // the API's
				default:
					t.Errorf("%s:%d embeds files: SQL is embedded by sql/embed.go alone", file.path, file.line(comment))
				}
			}
		}
		if file.path == "sql/embed.go" && (len(file.tree.Imports) != 1 || file.tree.Imports[0].Path.Value != `"embed"`) {
			t.Errorf("%s imports more than embed", file.path)
		}
	}
	if !seen {
		t.Error("sql/embed.go embeds nothing")
	}
}
