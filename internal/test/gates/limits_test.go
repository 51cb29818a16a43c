package gates_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The bounds of hand-written code outside of tests.
const (
	maxComplexity = 15 // of a function: see complexity
	maxFields     = 20 // of a struct that holds state: see overfull
	maxMethods    = 25 // of a type that holds state
	maxFiles      = 30 // of a package: see counted
)

// bounded matches the files that the bounds hold for.
var bounded = regexp.MustCompile(`^(jobs|internal/queue|internal/callback|admin|cmd|metrics|telemetry)/`)

func TestComplexityIsBounded(t *testing.T) {
	folders := map[string][]source{}
	for _, file := range written(t) {
		if bounded.MatchString(file.path) && !file.isTest() {
			folders[path.Dir(file.path)] = append(folders[path.Dir(file.path)], file)
		}
	}
	for _, list := range folders {
		for _, fault := range excesses(list) {
			t.Error(fault)
		}
	}
}

// excesses returns the parts of the files of a package that are beyond the bounds.
func excesses(list []source) []string {
	faults := overfull(list)
	for _, file := range list {
		for _, decl := range file.tree.Decls {
			for name, node := range functions(decl) {
				if n := complexity(node); n > maxComplexity {
					faults = append(faults, fmt.Sprintf("%s:%d: %s has the cyclomatic complexity %d, more than %d", file.path, file.line(node), name, n, maxComplexity))
				}
			}
		}
	}
	if n := len(counted(list)); n > maxFiles {
		faults = append(faults, fmt.Sprintf("%s has %d files, more than %d", path.Dir(list[0].path), n, maxFiles))
	}
	return faults
}

// functions returns the function of a declaration with its name, or the variables of a declaration, which may hold
// function literals.
func functions(decl ast.Decl) map[string]ast.Node {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return map[string]ast.Node{decl.Name.Name: decl}
	case *ast.GenDecl:
		list := map[string]ast.Node{}
		for _, spec := range decl.Specs {
			if vars, ok := spec.(*ast.ValueSpec); ok {
				list[vars.Names[0].Name] = vars
			}
		}
		return list
	}
	return nil
}

// complexity returns the cyclomatic complexity of a function: 1 and its branches, those of its function literals included.
func complexity(function ast.Node) int {
	n := 1
	ast.Inspect(function, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// overfull returns the types of a package that hold state and have too many methods, and the structs with methods that
// have too many fields.
//
// What tells state from data: a struct with at most one unexported field is data, such as the row of a job, and may have a
// field for each thing to know. A type whose methods change at most one of its fields is a set of functions over the same
// values, such as the operations of an API, and may have a method for each.
func overfull(list []source) (faults []string) {
	methods, changed := map[string]int{}, map[string]map[string]bool{}
	for _, file := range list {
		for _, decl := range file.tree.Decls {
			if method, ok := decl.(*ast.FuncDecl); ok && method.Recv != nil {
				name := typeName(method.Recv.List[0].Type)
				methods[name]++
				if changed[name] == nil {
					changed[name] = map[string]bool{}
				}
				addChanged(changed[name], method)
			}
		}
	}
	for _, file := range list {
		ast.Inspect(file.tree, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			name := spec.Name.Name
			where := fmt.Sprintf("%s:%d: type %s", file.path, file.line(spec), name)
			if n := methods[name]; n > maxMethods && len(changed[name]) > 1 {
				faults = append(faults, fmt.Sprintf("%s has %d methods, more than %d, which change %d fields", where, n, maxMethods, len(changed[name])))
			}
			fields, unexported := countFields(spec.Type)
			if methods[name] > 0 && unexported > 1 && fields > maxFields {
				faults = append(faults, fmt.Sprintf("%s has %d fields, more than %d", where, fields, maxFields))
			}
			return true
		})
	}
	return faults
}

// addChanged adds the fields of its receiver that a method assigns to.
func addChanged(fields map[string]bool, method *ast.FuncDecl) {
	receiver := method.Recv.List[0]
	if _, pointer := receiver.Type.(*ast.StarExpr); !pointer || len(receiver.Names) == 0 || method.Body == nil {
		return
	}
	ast.Inspect(method.Body, func(node ast.Node) bool {
		var targets []ast.Expr
		switch node := node.(type) {
		case *ast.AssignStmt:
			targets = node.Lhs
		case *ast.IncDecStmt:
			targets = []ast.Expr{node.X}
		}
		for _, target := range targets {
			if base, field := firstField(target); base == receiver.Names[0].Name {
				fields[field] = true
			}
		}
		return true
	})
}

// firstField returns a and b of an expression such as a.b, a.b[i] or (*a.b).c.
func firstField(expr ast.Expr) (base, field string) {
	for {
		switch e := expr.(type) {
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.StarExpr:
			expr = e.X
		case *ast.SelectorExpr:
			if x, ok := e.X.(*ast.Ident); ok {
				return x.Name, e.Sel.Name
			}
			expr = e.X
		default:
			return "", ""
		}
	}
}

// typeName returns the name of a receiver's or an embedded field's type.
func typeName(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return typeName(expr.X)
	case *ast.IndexExpr:
		return typeName(expr.X)
	case *ast.IndexListExpr:
		return typeName(expr.X)
	case *ast.Ident:
		return expr.Name
	}
	return ""
}

// countFields returns how many fields a struct has, and how many of them are unexported; 0 for other types.
func countFields(expr ast.Expr) (all, unexported int) {
	structure, ok := expr.(*ast.StructType)
	if !ok {
		return 0, 0
	}
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			all++
			if !name.IsExported() {
				unexported++
			}
		}
		if len(field.Names) == 0 {
			all++
			if !ast.IsExported(typeName(field.Type)) {
				unexported++
			}
		}
	}
	return all, unexported
}

var platform = regexp.MustCompile(`_(linux|darwin|bsd|unix|windows|other)\.go$`)

// counted returns the files of a package that count: those of one thing on several platforms as one. A command of a
// program, with the files that are named after it (list.go, list_filter.go), does not count: a program may have as many
// commands as it needs.
func counted(list []source) []string {
	var names []string
	commands := map[string]bool{}
	for _, file := range list {
		names = append(names, platform.ReplaceAllString(path.Base(file.path), ".go"))
		if slices.ContainsFunc(file.tree.Decls, makesCommand) {
			commands[family(file.path)] = true
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return commands[family(name)] })
}

// family returns the name of a file up to its first underscore.
func family(file string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".go"), "_")
	return name
}

// makesCommand reports whether a declaration is a function that returns a command of a command line.
func makesCommand(decl ast.Decl) bool {
	function, ok := decl.(*ast.FuncDecl)
	return ok && function.Type.Results != nil && len(function.Type.Results.List) == 1 &&
		types.ExprString(function.Type.Results.List[0].Type) == "*cobra.Command"
}

func TestTheExcessFinderFindsExcesses(t *testing.T) {
	ifs := strings.Repeat("if a { };", 8)
	methods := func(body string) string {
		var b strings.Builder
		for i := range maxMethods + 1 {
			fmt.Fprintf(&b, "func (t *T) m%d() { %s }\n", i, body)
		}
		return b.String()
	}
	fields := func(name string) string {
		var b strings.Builder
		for i := range maxFields {
			fmt.Fprintf(&b, "%s%d int; ", name, i)
		}
		return b.String()
	}
	for code, want := range map[string]int{
		// 1 and 8 branches, and bodies that reach or exceed the bound.
		"func f() {" + ifs + "for a { }; for range a { }; switch a { case b, c: default: }; select { case <-a: default: }; _ = a && b || c }": 0,
		"func f() {" + ifs + ifs + "}":                                      1,
		"func f() {" + ifs + "_ = func() {" + ifs + "} }":                   1,
		"var f = func() {" + ifs + ifs + "}":                                1,
		"func f() {" + ifs + "}; func g() {" + ifs + "}":                    0,
		"type T struct { a, b int };" + methods("t.a++; t.b = 1"):           1,
		"type T struct { a, b int };" + methods("t.a[0].b = 1"):             0,
		"type T struct { a, b int };" + methods("u := 1; u = t.a"):          0,
		"type T struct { " + fields("a") + "U }; func (T) m() {}":           1,
		"type T struct { " + fields("a") + "}; func (T) m() {}":             0,
		"type T struct { " + fields("a") + "U }":                            0,
		"type T struct { " + fields("A") + "held U }; func (T) m()":         0,
		"type T[A any] struct { " + fields("a") + "U }; func (T[A]) m() {}": 1,
	} {
		if faults := excesses([]source{sourceOf(t, "p/x.go", code)}); len(faults) != want {
			t.Errorf("%s: %d faults, want %d: %v", code, len(faults), want, faults)
		}
	}
}

func TestTheExcessFinderCountsFiles(t *testing.T) {
	var list []source
	add := func(code string, names ...string) {
		for _, name := range names {
			list = append(list, sourceOf(t, name, code))
		}
	}
	for i := range maxFiles - 1 {
		add("", fmt.Sprintf("p/f%d.go", i))
	}
	add("", "p/lock_linux.go", "p/lock_other.go", "p/list_filter.go", "p/listing.go")
	add("func (a *app) listCommand() *cobra.Command { return nil }", "p/list.go")
	if faults := excesses(list); len(faults) != 1 {
		t.Errorf("%d files and one of several platforms: %v", maxFiles, faults)
	}
	list = slices.DeleteFunc(list, func(file source) bool { return file.path == "p/listing.go" })
	if faults := excesses(list); len(faults) != 0 {
		t.Errorf("as many files as may be: %v", faults)
	}
}

func sourceOf(t *testing.T, name, code string) source {
	t.Helper()
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, "package p; "+code, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return source{name, set, tree}
}
