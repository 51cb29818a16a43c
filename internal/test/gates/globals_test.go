package gates_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"testing"
)

// Package variables are constants that Go cannot write as such (sentinel errors, tables, patterns): no code assigns to
// them, takes their address or stores in them, and none is a lock or a counter.
func TestNoMutablePackageVariables(t *testing.T) {
	folders := map[string][]source{}
	for _, file := range written(t) {
		if !file.isTest() {
			folders[path.Dir(file.path)] = append(folders[path.Dir(file.path)], file)
		}
	}
	for _, list := range folders {
		for _, fault := range mutations(list) {
			t.Error(fault)
		}
	}
}

var stateful = regexp.MustCompile(`^\*?(sync|atomic)\.`)

// mutations returns where the package variables of a folder's files change. Imports are left unresolved: only the
// package's own names matter, so type errors are ignored.
func mutations(list []source) []string {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}, Importer: noImports{}}
	var faults []string
	var trees []*ast.File
	for _, file := range list {
		trees = append(trees, file.tree)
	}
	pkg, _ := config.Check("p", list[0].set, trees, info) // its errors are those of the imports
	isGlobal := func(expr ast.Expr) *ast.Ident {
		for {
			switch e := expr.(type) {
			case *ast.ParenExpr:
				expr = e.X
			case *ast.IndexExpr:
				expr = e.X
			case *ast.SelectorExpr:
				expr = e.X
			case *ast.StarExpr:
				expr = e.X
			case *ast.Ident:
				if v, ok := info.Uses[e].(*types.Var); ok && pkg != nil && v.Parent() == pkg.Scope() {
					return e
				}
				return nil
			default:
				return nil
			}
		}
	}
	for _, file := range list {
		report := func(name *ast.Ident, what string) {
			faults = append(faults, file.path+": package variable "+name.Name+" "+what)
		}
		for _, decl := range file.tree.Decls {
			if vars, ok := decl.(*ast.GenDecl); ok && vars.Tok == token.VAR {
				for _, spec := range vars.Specs {
					if spec := spec.(*ast.ValueSpec); spec.Type != nil && stateful.MatchString(types.ExprString(spec.Type)) {
						report(spec.Names[0], "is state: "+types.ExprString(spec.Type))
					}
				}
			}
		}
		ast.Inspect(file.tree, func(node ast.Node) bool {
			var changed []ast.Expr
			switch node := node.(type) {
			case *ast.AssignStmt:
				changed = node.Lhs
			case *ast.IncDecStmt:
				changed = []ast.Expr{node.X}
			case *ast.UnaryExpr:
				if node.Op == token.AND {
					changed = []ast.Expr{node.X}
				}
			}
			for _, expr := range changed {
				if name := isGlobal(expr); name != nil {
					report(name, "is changed, or its address taken")
				}
			}
			return true
		})
	}
	return faults
}

func TestTheMutationFinderFindsMutations(t *testing.T) {
	for code, want := range map[string]int{
		"var a = 1; func f() { a = 2 }":                              1,
		"var a = 1; func f() { a++ }":                                1,
		"var a = map[int]int{}; func f() { a[1] = 2 }":               1,
		"var a struct{ b []int }; func f() { a.b[0] += 1 }":          1,
		"var a = 1; func f() *int { return &a }":                     1,
		"var mu sync.Mutex":                                          1,
		"var n atomic.Int64":                                         1,
		"var a = 1; func f() int { a := 2; a++; return a }":          0,
		"var ErrX = errors.New(`x`); func f() error { return ErrX }": 0,
	} {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, "x.go", "package p; "+code, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if faults := mutations([]source{{"x.go", set, tree}}); len(faults) != want {
			t.Errorf("%s: %d faults, want %d: %v", code, len(faults), want, faults)
		}
	}
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }
