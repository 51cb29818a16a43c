package gates_test

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxReach is the largest number of fields, and of methods, that a struct reaches: its own and those of the structs that it embeds.
const maxReach = 25

// reaching matches the folders whose structs the bound holds for.
var reaching = regexp.MustCompile(`^(jobs|internal/queue)(/|$)`)

// reachExempt are structs of the API and rows, which may have a field or a method for each thing to know.
var reachExempt = map[string]string{
	"jobs.Client":            "the API",
	"jobs.Runner":            "the API",
	"jobs.Config":            "a Config",
	"jobs/inspect.Inspector": "the API",
	"jobs/jobtype.Job":       "the API",
	"jobs/jobstest.Queue":    "the API: a Client with more",
	"jobs/jobstest.CrashRun": "the API: a Queue with more",
}

func TestReachIsBounded(t *testing.T) {
	all := shapes{}
	for _, file := range written(t) {
		if !file.isTest() {
			all.add(file)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		folder, _, _ := strings.Cut(name, ".")
		if !reaching.MatchString(folder) || reachExempt[name] != "" || s.fields == nil {
			continue
		}
		embeds := slices.ContainsFunc(s.embedded, func(other string) bool { return all[other] != nil && all[other].fields != nil })
		if !embeds && (ast.IsExported(path.Ext(name)[1:]) || len(s.methods) == 0) {
			continue
		}
		fields, methods := map[string]bool{}, map[string]bool{}
		all.reach(name, fields, methods)
		if len(fields) > maxReach || len(methods) > maxReach {
			t.Errorf("%s reaches %d fields and %d methods; at most %d of each", name, len(fields), len(methods), maxReach)
		}
	}
}

// shape is a type, with the names of the types that it embeds, as folder.Name.
type shape struct {
	fields   map[string]bool // nil when it is no struct
	methods  map[string]bool
	embedded []string
}

// shapes holds types by folder.Name.
type shapes map[string]*shape

func (all shapes) of(name string) *shape {
	if all[name] == nil {
		all[name] = &shape{methods: map[string]bool{}}
	}
	return all[name]
}

// add adds the types and methods of a file.
func (all shapes) add(file source) {
	folder := path.Dir(file.path)
	imports := map[string]string{}
	for _, spec := range file.tree.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = strings.TrimPrefix(target, "github.com/sqluice/sqluice/")
	}
	for _, decl := range file.tree.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv != nil {
				all.of(fmt.Sprint(folder, ".", typeName(decl.Recv.List[0].Type))).methods[decl.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				spec, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				if structure, ok := spec.Type.(*ast.StructType); ok {
					all.of(fmt.Sprint(folder, ".", spec.Name.Name)).addFields(structure, folder, imports)
				}
			}
		}
	}
}

func (s *shape) addFields(structure *ast.StructType, folder string, imports map[string]string) {
	s.fields = map[string]bool{}
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			s.fields[name.Name] = true
		}
		if len(field.Names) > 0 {
			continue
		}
		expr := field.Type
		if pointer, ok := expr.(*ast.StarExpr); ok {
			expr = pointer.X
		}
		if selector, ok := expr.(*ast.SelectorExpr); ok {
			if pkg, ok := selector.X.(*ast.Ident); ok {
				s.embedded = append(s.embedded, fmt.Sprint(imports[pkg.Name], ".", selector.Sel.Name))
			}
			continue
		}
		s.embedded = append(s.embedded, fmt.Sprint(folder, ".", typeName(expr)))
	}
}

// reach adds the fields and methods that a struct reaches by their names.
func (all shapes) reach(name string, fields, methods map[string]bool) {
	s := all[name]
	if s == nil {
		return
	}
	maps.Copy(fields, s.fields)
	maps.Copy(methods, s.methods)
	for _, other := range s.embedded {
		fields[path.Ext(other)[1:]] = true
		all.reach(other, fields, methods)
	}
}
