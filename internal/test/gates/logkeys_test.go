package gates_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A log line is a text in words, without the values. Values have keys, and the same sort of value has the same key in
// all lines.
func TestLogLinesHaveTextsAndKeys(t *testing.T) {
	lines := 0
	for _, file := range written(t) {
		if file.isTest() || strings.HasPrefix(file.path, "bench/") {
			continue
		}
		ast.Inspect(file.tree, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, method.Sel.Name) || !isLogger(method.X) || len(call.Args) == 0 {
				return true
			}
			lines++
			for _, fault := range logFaults(call.Args) {
				t.Errorf("%s:%d: %s", file.path, file.line(call), fault)
			}
			return true
		})
	}
	if lines < 20 {
		t.Errorf("only %d log lines were found", lines)
	}
}

// isLogger recognises loggers by their names in this repository.
func isLogger(expr ast.Expr) bool {
	switch e := expr.(type) {
	case *ast.Ident:
		return e.Name == "log" || e.Name == "logger" || e.Name == "slog"
	case *ast.SelectorExpr:
		return e.Sel.Name == "log" || e.Sel.Name == "logger" || e.Sel.Name == "Log"
	}
	return false
}

var logKey = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

func logFaults(args []ast.Expr) (faults []string) {
	if text, ok := literal(args[0]); ok && (text == "" || strings.HasSuffix(text, ".") || strings.Contains(text, "%")) {
		faults = append(faults, "the text "+strconv.Quote(text)+" ends with a full stop, or is a format")
	}
	seen := map[string]bool{}
	rest := args[1:]
	if len(rest) > 0 {
		if inner, ok := rest[0].(*ast.CallExpr); ok { // append(attrs, "key", value), or attrs alone
			if len(inner.Args) == 0 {
				return faults
			}
			rest = inner.Args[1:]
		}
	}
	for i := 0; i < len(rest); i += 2 {
		key, ok := literal(rest[i])
		if !ok || !logKey.MatchString(key) || seen[key] || i+1 == len(rest) {
			faults = append(faults, "a key is no word, or there twice, or without a value")
		}
		seen[key] = true
		if name, ok := rest[min(i+1, len(rest)-1)].(*ast.Ident); ok && name.Name == "err" && key != "error" && key != "reason" {
			faults = append(faults, "an error's key is "+key)
		}
	}
	return faults
}

func literal(expr ast.Expr) (string, bool) {
	l, ok := expr.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}
