package admin_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"slices"
	"strconv"
	"testing"
)

// The contract names every reason that a diagnosis can have.
func TestContractNamesEveryReason(t *testing.T) {
	declared := append(reasonsIn(t, "why.go"), reasonsIn(t, "why_schedule.go")...)
	text, err := os.ReadFile("openapi.json")
	must(t, err)
	var contract struct {
		Components struct {
			Schemas struct {
				Finding struct {
					Properties struct {
						Reason struct{ Enum []string }
					}
				}
			}
		}
	}
	must(t, json.Unmarshal(text, &contract))
	named := contract.Components.Schemas.Finding.Properties.Reason.Enum
	slices.Sort(declared)
	slices.Sort(named)
	if len(declared) < 20 || !slices.Equal(declared, named) {
		t.Errorf("package inspect has the reasons %q, the contract %q", declared, named)
	}
}

// reasonsIn returns the reasons that a file of package inspect declares.
func reasonsIn(t *testing.T, file string) (declared []string) {
	t.Helper()
	tree, err := parser.ParseFile(gotoken.NewFileSet(), "../jobs/inspect/"+file, nil, 0)
	must(t, err)
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Reason" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			must(t, err)
			declared = append(declared, text)
		}
		return true
	})
	return declared
}
