package gates

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Statement is one query as sqlc generated it.
type Statement struct {
	Name    string   // of the query, such as ClaimJobs
	Command string   // :one, :many, :exec or :execrows
	SQL     string   // with numbered placeholders
	Args    int      // the number of values that its method passes
	Types   []string // of these values in Go, such as string or *int64
}

// Placeholders returns the numbers of a statement's placeholders, ?1 or $1, each once and in order.
func (s Statement) Placeholders() ([]int, error) {
	var numbers []int
	for _, match := range placeholder.FindAllStringSubmatch(s.SQL, -1) {
		n, err := strconv.Atoi(match[1])
		if err != nil {
			return nil, fmt.Errorf("%s: a placeholder without a number: %w", s.Name, err)
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

var (
	placeholder = regexp.MustCompile(`[?$](\d*)`)
	header      = regexp.MustCompile(`^-- name: (\w+) (:\w+)\n`)
)

// Statements reads the statements of a folder that sqlc generated, sorted by name.
func Statements(folder string) ([]Statement, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.sql.go"))
	if err != nil {
		return nil, err
	}
	texts, calls, fields := map[string]string{}, map[string][]string{}, map[string]string{}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if err := collect(tree, texts, calls, fields); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	var statements []Statement
	for constant, text := range texts {
		head := header.FindStringSubmatch(text)
		if head == nil {
			return nil, fmt.Errorf("%s: constant %s does not begin with `-- name: Name :command`", folder, constant)
		}
		args, called := calls[constant]
		if !called {
			return nil, fmt.Errorf("%s: no method runs %s", folder, constant)
		}
		s := Statement{Name: head[1], Command: head[2], SQL: text[len(head[0]):], Args: len(args)}
		for _, arg := range args {
			name, field, _ := strings.Cut(arg, ".")
			if field != "" {
				name = fields[arg]
			}
			s.Types = append(s.Types, name)
		}
		statements = append(statements, s)
	}
	if len(statements) == 0 {
		return nil, fmt.Errorf("%s: no statements", folder)
	}
	slices.SortFunc(statements, func(a, b Statement) int { return strings.Compare(a.Name, b.Name) })
	return statements, nil
}

// collect records the constants of a file, the values with which each runs, and the types of all fields. A value is a field, such as
// ClaimJobsParams.Queue, or the type of a method's one parameter.
func collect(tree *ast.File, texts map[string]string, calls map[string][]string, fields map[string]string) error {
	var fault error
	var parameter string // the type of the current method's one
	ast.Inspect(tree, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			parameter = ""
			if list := node.Type.Params.List; len(list) > 1 {
				parameter = types.ExprString(list[1].Type)
			}
		case *ast.TypeSpec:
			if of, ok := node.Type.(*ast.StructType); ok {
				for _, field := range of.Fields.List {
					for _, name := range field.Names {
						fields[node.Name.Name+"."+name.Name] = types.ExprString(field.Type)
					}
				}
			}
		case *ast.ValueSpec:
			if len(node.Values) != 1 {
				break
			}
			if literal, ok := node.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					fault = err
				}
				texts[node.Names[0].Name] = text
			}
		case *ast.CallExpr:
			// q.db.QueryContext(ctx, claimJobs, args...), or q.db.Query(ctx, claimJobs, args...)
			if method, ok := node.Fun.(*ast.SelectorExpr); ok && runs(method.Sel.Name) && len(node.Args) > 1 {
				if constant, ok := node.Args[1].(*ast.Ident); ok {
					calls[constant.Name] = []string{}
					for _, arg := range node.Args[2:] {
						value := parameter
						if field, ok := arg.(*ast.SelectorExpr); ok {
							value += "." + field.Sel.Name
						}
						calls[constant.Name] = append(calls[constant.Name], value)
					}
				}
			}
		}
		return true
	})
	return fault
}

func runs(method string) bool {
	return slices.Contains([]string{"Query", "QueryRow", "Exec"}, strings.TrimSuffix(method, "Context"))
}
