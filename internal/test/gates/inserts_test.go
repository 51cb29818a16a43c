package gates_test

import (
	"go/ast"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/sqluice/sqluice/internal/test/gates"
)

// inserters are the files that may run a statement that inserts jobs. Those of the engines announce the jobs themselves. Those of
// lifecycle run inside Store.InsertWith, which announces them: see announced.
var inserters = map[string]string{
	"jobs/sqlite/insert.go":                       "Insert announces",
	"jobs/sqlite/recount.go":                      "the row is removed again",
	"jobs/postgres/insert.go":                     "Insert announces",
	"jobs/postgres/claim.go":                      "a part of Insert, with a claim",
	"internal/queue/lifecycle/insert.go":          "callers announce",
	"internal/queue/lifecycle/insertall.go":       "callers announce",
	"internal/queue/lifecycle/unique.go":          "callers announce",
	"internal/test/costs/benchmark_statements.go": "a benchmark without a worker",
	"internal/move/ids.go":                        "the job is removed again",
	"internal/move/table.go":                      "the queue is closed",
}

// announced are the functions that insert jobs, by package or by the method that returns their receiver: they are called inside a call of
// InsertWith only, or by one another.
var announced = map[string][]string{"lifecycle": {"Insert", "InsertMany", "InsertAll"}, "limits": {}, "inserter": {"Insert", "InsertAll"}, "schedule": {"Fire", "RunNow"}}

// A statement that inserts jobs runs only where other processes are notified of them. (A job that a person moves from queue
// to queue by `sqluice copy` is claimed when the queue is opened.)
func TestInsertsAreAnnounced(t *testing.T) {
	insert := regexp.MustCompile(`INSERT INTO sqluice_jobs\b`)
	update := regexp.MustCompile(`ON CONFLICT \(id\) DO UPDATE`) // of rows that are there
	names := map[string]bool{}
	for _, folder := range []string{sqliteCode, postgresCode, sqliteOnlyCode} {
		statements, err := gates.Statements(filepath.Join(root(t), folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range statements {
			if insert.MatchString(s.SQL) && !update.MatchString(s.SQL) {
				names[s.Name] = true
			}
		}
	}
	if !names["EnqueueJob"] || !names["EnqueueJobs"] || !names["ImportJobs"] {
		t.Fatalf("the statements that insert jobs are %v", names)
	}
	found, calls := map[string]bool{}, 0
	for _, s := range written(t) {
		if s.isTest() || filepath.Dir(s.path) == "internal/test/conformance" {
			continue // conformance is tests of stores
		}
		var nodes []ast.Node
		ast.Inspect(s.tree, func(node ast.Node) bool {
			if node == nil {
				nodes = nodes[:len(nodes)-1]
				return true
			}
			nodes = append(nodes, node)
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name := selector.Sel.Name
			if names[name] {
				found[s.path] = true
				if inserters[s.path] == "" {
					t.Errorf("%s:%d: %s inserts jobs that no process is told of: use Store.Insert or InsertWith", s.path, s.line(node), name)
				}
			}
			if x := nameOf(selector.X); slices.Contains(announced[x], name) && announced[path.Base(filepath.Dir(s.path))] == nil {
				calls++
				if !slices.ContainsFunc(nodes, isInsertWith) {
					t.Errorf("%s:%d: %s.%s stands outside of a call of InsertWith", s.path, s.line(node), x, name)
				}
			}
			return true
		})
	}
	for file := range inserters {
		if !found[file] {
			t.Errorf("%s inserts no jobs: keep the list true", file)
		}
	}
	if calls < 4 {
		t.Errorf("%d calls of %v were found", calls, announced)
	}
}

// nameOf returns the name of a package, or of the method whose result is called; empty for anything else.
func nameOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.CallExpr:
		if selector, ok := x.Fun.(*ast.SelectorExpr); ok {
			return selector.Sel.Name
		}
	}
	return ""
}

// isInsertWith reports whether a node is a call of a method InsertWith.
func isInsertWith(node ast.Node) bool {
	call, ok := node.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "InsertWith"
}
