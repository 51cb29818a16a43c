package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/gates"
)

// suiteGroups returns the names of the groups in Run of package conformance.
func suiteGroups(t *testing.T) []string {
	t.Helper()
	root, err := gates.Root()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "internal", "test", "conformance", "conformance.go")
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var groups []string
	ast.Inspect(tree, func(node ast.Node) bool {
		entry, isLiteral := node.(*ast.CompositeLit)
		if !isLiteral || len(entry.Elts) != 2 {
			return true
		}
		if name, isText := entry.Elts[0].(*ast.BasicLit); isText && name.Kind == token.STRING {
			group, err := strconv.Unquote(name.Value)
			if err != nil {
				t.Fatal(err)
			}
			groups = append(groups, group)
		}
		return true
	})
	if len(groups) < 50 {
		t.Fatalf("only %d groups were read from %s", len(groups), file)
	}
	return groups
}

// The promises are those of the groups that exist, one sentence each.
func TestEveryGroupHasAPromise(t *testing.T) {
	groups := slices.AppendSeq(suiteGroups(t), maps.Values(besides))
	for _, group := range groups {
		if promises[group] == "" {
			t.Errorf("promises lacks a sentence for the group %s", group)
		}
	}
	for group, promise := range promises {
		if !slices.Contains(groups, group) {
			t.Errorf("promises has a sentence for %s, which is no group of the suite", group)
		}
		if !strings.HasSuffix(promise, ".") || len(strings.Fields(promise)) > 12 {
			t.Errorf("the promise of %s is no sentence of at most 12 words: %q", group, promise)
		}
	}
}

// The page in docs has the columns and groups that its generator writes.
func TestPageHasItsGroups(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../docs/conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "|group|tests|promise|PostgreSQL|PostgreSQL behind PgBouncer|SQLite|\n") {
		t.Error("docs/conformance.md lacks the generator's columns: run make conformance")
	}
	for group, promise := range promises {
		if !strings.Contains(string(text), "\n|"+group+"|") || !strings.Contains(string(text), "|"+promise+"|") {
			t.Errorf("docs/conformance.md lacks the group %s or its promise: run make conformance", group)
		}
	}
}

// line returns an event of go test -json.
func line(action, pkg, test string) string {
	return `{"Action":"` + action + `","Package":"jobs/` + pkg + `","Test":"` + test + `"}` + "\n"
}

// complete is a run in which each test of three groups passes on an engine that has it.
var complete = line("pass", "sqlite", "TestConformance/Unique/OneWinner") + line("pass", "postgres", "TestConformance/Unique/OneWinner") +
	line("pass", "sqlite", "TestConformance/Unique/PerKind") + line("skip", "postgres", "TestConformance/Unique/PerKind") +
	line("pass", "sqlite", "TestDeadlines/locked_file") + line("pass", "postgres", "TestConformance/Order/AcrossKinds") +
	line("pass", "sqlite", "TestConformance/Order/AcrossKinds") + line("pass", "sqlite", "TestConformance") + line("fail", "sqlite", "TestOther")

func TestPage(t *testing.T) {
	r, err := read(strings.NewReader(complete))
	if err != nil || len(r.failures) > 0 {
		t.Fatalf("failures %q, %v", r.failures, err)
	}
	text := page(r)
	for _, wanted := range []string{
		"\n4 tests. ", "|group|tests|promise|PostgreSQL|SQLite|\n|---|---|---|---|---|\n",
		"|Unique|2|" + promises["Unique"] + "|1 of 2|pass|\n", "|Deadlines|1|" + promises["Deadlines"] + "|-|pass|\n",
	} {
		if !strings.Contains(text, wanted) {
			t.Errorf("the page lacks %q:\n%s", wanted, text)
		}
	}
	if want := "Unique/PerKind\t-\tpass\n"; !strings.Contains(each(r), want) {
		t.Errorf("the list of tests lacks %q:\n%s", want, each(r))
	}
}

func TestFailuresAreNamed(t *testing.T) {
	for events, want := range map[string]string{
		complete + line("fail", "postgres", "TestConformance/Unique/OneWinner"):                                                "TestConformance/Unique/OneWinner on PostgreSQL (fail)",
		complete + line("fail", "postgres", ""):                                                                                "jobs/postgres",
		complete + line("pass", "sqlite", "TestConformance/Wait/Watch"):                                                        "Wait/Watch did not run on PostgreSQL",
		complete + line("skip", "sqlite", "TestConformance/Why/Ended") + line("skip", "postgres", "TestConformance/Why/Ended"): "Why/Ended passes on no engine",
		complete + line("pass", "sqlite", "TestConformance/Newest/A") + line("pass", "postgres", "TestConformance/Newest/A"):   "promises lacks a sentence for the group Newest",
		line("pass", "sqlite", "TestConformance/Order/AcrossKinds"):                                                            "no test ran on PostgreSQL",
	} {
		r, err := read(strings.NewReader(events))
		if err != nil || !slices.Contains(r.failures, want) {
			t.Errorf("failures %q, %v, not %q", r.failures, err, want)
		}
	}
}
