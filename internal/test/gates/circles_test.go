package gates_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layered are the packages whose files stand one above the other.
var layered = []string{"internal/queue/runner", "jobs/sqlite", "jobs/postgres"}

// No file of these packages uses another that uses it, also by way of others: a reader can begin at the bottom.
func TestNoFileUsesOneThatUsesIt(t *testing.T) {
	for _, folder := range layered {
		if left := circles(uses(t, folder)); len(left) > 0 {
			t.Errorf("%s: these files use each other, or lead to files that do: %s", folder, strings.Join(left, ", "))
		}
	}
}

func TestCirclesAreFound(t *testing.T) {
	left := circles(map[string]map[string]bool{"a": {"b": true}, "b": {"c": true}, "c": {"b": true}, "d": {}, "e": {"d": true}})
	if !slices.Equal(left, []string{"a", "b", "c"}) {
		t.Errorf("the circle of b and c, to which a leads, is found as %q", left)
	}
}

// circles removes the files that use no other, again and again, and returns the rest.
func circles(uses map[string]map[string]bool) []string {
	for removed := true; removed; {
		removed = false
		for file, others := range uses {
			if len(others) > 0 {
				continue
			}
			removed = true
			delete(uses, file)
			for _, users := range uses {
				delete(users, file)
			}
		}
	}
	return slices.Sorted(maps.Keys(uses))
}

// uses returns of each hand-written file of a package the files of the package that declare its types, functions, methods, constants and
// variables. Files for other systems are left out.
func uses(t *testing.T, folder string) map[string]map[string]bool {
	t.Helper()
	set, byFile := token.NewFileSet(), map[string]map[string]bool{}
	found, err := build.ImportDir(filepath.Join(root(t), folder), 0)
	if err != nil {
		t.Fatal(err)
	}
	var trees []*ast.File
	for _, name := range found.GoFiles {
		tree, err := parser.ParseFile(set, filepath.Join(found.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, tree)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noPackages{}, Error: func(error) {}} // names of other packages are unknown
	pkg, _ := config.Check(path.Base(folder), set, trees, info)           // its error is one of those
	file := func(pos token.Pos) string { return filepath.Base(set.Position(pos).Filename) }
	for _, tree := range trees {
		byFile[file(tree.Pos())] = map[string]bool{}
	}
	for id, used := range info.Uses {
		if used.Pkg() != pkg || used.Parent() != pkg.Scope() && !isMethod(used) {
			continue
		}
		if from, to := file(id.Pos()), file(used.Pos()); from != to {
			byFile[from][to] = true
		}
	}
	return byFile
}

// noPackages imports each package as one without contents: to compile the drivers would take half a minute.
type noPackages struct{}

func (noPackages) Import(name string) (*types.Package, error) {
	pkg := types.NewPackage(name, path.Base(name))
	pkg.MarkComplete()
	return pkg, nil
}

func isMethod(o types.Object) bool {
	f, ok := o.(*types.Func)
	return ok && f.Signature().Recv() != nil
}
