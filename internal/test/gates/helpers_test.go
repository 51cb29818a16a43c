package gates_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/gates"
)

func root(t *testing.T) string {
	t.Helper()
	dir, err := gates.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func files(t *testing.T, folder, suffix string) []string {
	t.Helper()
	list, err := gates.Files(root(t), folder, suffix)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatalf("no %s files in %s", suffix, folder)
	}
	return list
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// source is a parsed Go file of the repository.
type source struct {
	path string // relative to the root
	set  *token.FileSet
	tree *ast.File
}

func (s source) line(node ast.Node) int { return s.set.Position(node.Pos()).Line }

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// written returns the Go files that people write.
func written(t *testing.T) []source {
	t.Helper()
	var list []source
	set := token.NewFileSet()
	for _, file := range files(t, ".", ".go") {
		tree, err := parser.ParseFile(set, filepath.Join(root(t), file), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !ast.IsGenerated(tree) {
			list = append(list, source{file, set, tree})
		}
	}
	return list
}
