package main

import (
	"fmt"
	"go/ast"
)

// shape describes a method of a Querier for a type that wraps it.
type shape struct {
	name    string
	params  string // with their types
	args    string // the same for a call
	results string // the types of the results
	values  string // variable names for the results
}

// shapeOf handles the shapes of adapterMethod. named returns a type's name in the file of the new method.
func shapeOf(m *ast.Field, named func(string) string) (shape, error) {
	function := m.Type.(*ast.FuncType)
	s := shape{name: m.Names[0].Name, params: "ctx context.Context", args: "ctx", results: "error", values: "err"}
	if list := function.Params.List; len(list) > 1 {
		s.params += ", arg " + named(list[1].Type.(*ast.Ident).Name)
		s.args += ", arg"
	}
	if list := function.Results.List; len(list) > 1 {
		s.values = "value, err"
		switch t := list[0].Type.(type) {
		case *ast.Ident:
			s.results = "(" + named(t.Name) + ", error)"
		case *ast.ArrayType:
			s.results = "([]" + named(t.Elt.(*ast.Ident).Name) + ", error)"
		default:
			return shape{}, fmt.Errorf("method %s has the result type %T, which the generator does not support", s.name, t)
		}
	}
	return s, nil
}
