package gates_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// docs/callbacks.md says of each function, interface and logger that a program can give to a public package when it is
// called and what happens when it misbehaves. A new option or field of a struct must get a row there.
func TestCallbacksAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "callbacks.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, folder := range []string{"jobs", "jobs/inspect", "jobs/jobstest", "jobs/sqlite", "jobs/postgres", "admin", "metrics", "telemetry"} {
		for _, name := range callbacksOf(t, folder) {
			found++
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/callbacks.md lacks `%s`", name)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d callbacks were found", found)
	}
}

// plainTypes are types of other packages that have no code of the application, or whose code the page describes as a
// whole: contexts, transactions, pools and stores.
var plainTypes = []string{
	"context.Context", "context.CancelFunc", "time.Duration", "time.Time", "json.RawMessage", "sql.DB", "sql.Tx", "pgx.Tx",
	"pgxpool.Pool", "jobs.Store", "jobs.Tx", "jobs.Client", "jobs.Job", "core.Signal", "jobs.Observer", "db.Querier", "db.GetLastIDsRow",
	"db.Job", "jobs.Cause", "jobs.Fate", "jobs.ChangeOption", "jobs.Status",
	"testing.TB",
	"http.Request", "http.ResponseWriter", "template.HTML", "prometheus.Desc", "jobs.EnqueueRequest",
}

// callbacksOf returns the names of the exported fields, and of the exported functions with parameters, by which a package
// is given code. Those of package jobs stand without its name. Programs do not call the methods of a Store.
func callbacksOf(t *testing.T, folder string) (names []string) {
	t.Helper()
	var files []*ast.File
	code := map[string]bool{"any": true, "error": true} // types of the package that are functions or interfaces
	for _, file := range written(t) {
		if filepath.Dir(file.path) != folder || file.isTest() {
			continue
		}
		files = append(files, file.tree)
		ast.Inspect(file.tree, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				switch spec.Type.(type) {
				case *ast.FuncType, *ast.InterfaceType:
					code[spec.Name.Name] = true
				}
			}
			return true
		})
	}
	for _, options := range []string{"Option", "ClientOption", "EnqueueOption", "DebounceOption", "ChangeOption", "Store", "Tx"} {
		delete(code, options) // made by the package itself, or by an engine
	}
	prefix := ""
	if folder != "jobs" {
		prefix = filepath.Base(folder) + "."
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				of := receiver(d)
				if d.Name.IsExported() && (of == "" || ast.IsExported(of)) && of != "Store." && hasCode(d.Type.Params, code) {
					names = append(names, prefix+of+d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					names = append(names, fieldsWithCode(spec, prefix, code)...)
				}
			}
		}
	}
	return names
}

// receiver returns the name of a method's type and a dot, and nothing for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	expr := d.Recv.List[0].Type
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	if index, ok := expr.(*ast.IndexExpr); ok {
		expr = index.X
	}
	return expr.(*ast.Ident).Name + "."
}

func fieldsWithCode(spec ast.Spec, prefix string, code map[string]bool) (names []string) {
	named, ok := spec.(*ast.TypeSpec)
	if !ok || !named.Name.IsExported() {
		return nil
	}
	fields, ok := named.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, field := range fields.Fields.List {
		for _, name := range field.Names {
			if name.IsExported() && isCode(field.Type, code) {
				names = append(names, prefix+named.Name.Name+"."+name.Name)
			}
		}
	}
	return names
}

func hasCode(list *ast.FieldList, code map[string]bool) bool {
	return slices.ContainsFunc(list.List, func(f *ast.Field) bool { return isCode(f.Type, code) })
}

// isCode reports whether a value of a type can have code of the application. A type of another package can, unless it is
// one of plainTypes.
func isCode(expr ast.Expr, code map[string]bool) bool {
	switch e := expr.(type) {
	case *ast.FuncType, *ast.InterfaceType:
		return true
	case *ast.Ident:
		return code[e.Name]
	case *ast.IndexExpr:
		return isCode(e.X, code)
	case *ast.StarExpr:
		return isCode(e.X, code)
	case *ast.ArrayType:
		return isCode(e.Elt, code)
	case *ast.MapType:
		return isCode(e.Value, code)
	case *ast.Ellipsis:
		return isCode(e.Elt, code)
	case *ast.SelectorExpr:
		pkg, ok := e.X.(*ast.Ident)
		return !ok || !slices.Contains(plainTypes, pkg.Name+"."+e.Sel.Name)
	default:
		return false
	}
}
