package gates_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/gates"
)

// mark is a word or a shape of a sentence that names no actor. No comment, name or page may have one.
type mark struct {
	pattern *regexp.Regexp
	remedy  string
}

var marks = []mark{
	{regexp.MustCompile(`(?i)\b(some|no|any|every)body\b|\bwhoever\b`), "name the actor: the runner, the caller, another process, a person"},
	{regexp.MustCompile(`(?:^|[.:;!?|#*(-]\s*)Who\b`), "begin the sentence with the actor: a caller that, a process that"},
	{regexp.MustCompile(`(?i)\b(by|of|for|from|to|with|than|but|where) who\b`), "name the actor: the caller that, the process that"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were)( not)? to be\b`), "say must, or who does it: the caller closes it"},
	{regexp.MustCompile(`(?i)\bas ever\b`), "write: normally, as before"},
	{regexp.MustCompile(`(?i)\bmore seldom\b`), "write: at growing intervals, less often"},
	{regexp.MustCompile(`(?i)\bno news\b`), "write: no notification, no change"},
	{regexp.MustCompile(`(?i)\bsuch (a|an) one\b`), "repeat the noun"},
	{regexp.MustCompile(`(?i)\bone's own\b`), "name the owner, or write: separate, custom"},
	{regexp.MustCompile(`(?i)\b(at the (most|least)|for want of)\b`), "write: at most, at least, without"},
}

// nameMark matches names that stand for an unnamed actor.
var nameMark = regexp.MustCompile(`(?i:some|any|every)body|[nN]obody|(?i:whoever)`)

// docMark matches the words after the identifier of a doc comment that name no noun.
var docMark = regexp.MustCompile(`^(is|are) (that|those|what|how|when|where|who|why|whether)\b`)

const docRemedy = "go on with a verb (returns, reports whether, holds), or with is the and a noun (is the number of, is the longest time)"

// passage is a piece of text of a file.
type passage struct {
	line int
	text string
}

// Comments, names and pages say who does what. String literals are not checked: they may quote other people.
func TestPlainWords(t *testing.T) {
	top := root(t)
	err := filepath.WalkDir(top, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != top && gates.Foreign(file, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		relative, err := filepath.Rel(top, file)
		if err != nil {
			return err
		}
		faults, err := faultsOf(filepath.ToSlash(relative), file)
		for _, fault := range faults {
			t.Error(fault)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A doc comment goes on after its identifier with a verb or a noun.
func TestDocCommentsNameTheNoun(t *testing.T) {
	for _, s := range written(t) {
		for _, fault := range docFaults(s.set, s.tree) {
			t.Errorf("%s:%d: %s", s.path, fault.line, fault.text)
		}
	}
}

// docFaults returns the faults of the doc comments of a file that begin with their identifier.
func docFaults(set *token.FileSet, tree *ast.File) (faults []passage) {
	check := func(doc *ast.CommentGroup, names ...*ast.Ident) {
		for _, name := range names {
			after, ok := strings.CutPrefix(joined(doc.Text()), name.Name+" ")
			if at := docMark.FindString(after); ok && at != "" {
				text := fmt.Sprintf("%q: %s", name.Name+" "+at, docRemedy)
				faults = append(faults, passage{set.Position(doc.Pos()).Line, text})
			}
		}
	}
	ast.Inspect(tree, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncDecl:
			check(n.Doc, n.Name)
		case *ast.GenDecl:
			check(n.Doc, namesOf(n.Specs)...)
		case *ast.TypeSpec:
			check(n.Doc, n.Name)
		case *ast.ValueSpec:
			check(n.Doc, n.Names...)
		case *ast.Field:
			check(n.Doc, n.Names...)
		}
		return true
	})
	return faults
}

// namesOf returns the names of a declaration of types, constants or variables.
func namesOf(specs []ast.Spec) (names []*ast.Ident) {
	for _, spec := range specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name)
		case *ast.ValueSpec:
			names = append(names, s.Names...)
		}
	}
	return names
}

// faultsOf returns the marks of a file, called name in the messages.
func faultsOf(name, file string) ([]string, error) {
	read := passagesOf(name)
	if read == nil {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	passages, err := read(string(text))
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, p := range passages {
		for _, fault := range faultsIn(p.text) {
			faults = append(faults, fmt.Sprintf("%s:%d: %s", name, p.line, fault))
		}
	}
	return faults, nil
}

func faultsIn(text string) []string {
	var faults []string
	for _, m := range marks {
		if at := m.pattern.FindString(text); at != "" {
			faults = append(faults, "\""+strings.TrimSpace(at)+"\": "+m.remedy)
		}
	}
	return faults
}

// passagesOf returns how the text of a file is read, and nil for a file without comments to check.
func passagesOf(name string) func(string) ([]passage, error) {
	switch path.Ext(name) {
	case ".go":
		return goPassages
	case ".md":
		return pagePassages
	case ".sql":
		return lineComments(`--`)
	case ".js", ".ts", ".mjs":
		return lineComments(`//`)
	case ".sh", ".yaml", ".yml":
		return lineComments(`#+`)
	}
	if path.Base(name) == "Makefile" {
		return lineComments(`#+`)
	}
	return nil
}

// goPassages returns the comments of a Go file that people wrote, and the names in it.
func goPassages(text string) ([]passage, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(tree) {
		return nil, err
	}
	var list []passage
	for _, group := range tree.Comments {
		list = append(list, passage{set.Position(group.Pos()).Line, joined(group.Text())})
	}
	ast.Inspect(tree, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok {
			if at := nameMark.FindString(name.Name); at != "" {
				list = append(list, passage{set.Position(name.Pos()).Line, at})
			}
		}
		return true
	})
	return list, nil
}

var (
	fence  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inCode = regexp.MustCompile("`[^`]*`")
)

// pagePassages returns the paragraphs of a page in Markdown, without code.
func pagePassages(text string) ([]passage, error) {
	text = fence.ReplaceAllStringFunc(text, func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
	var list []passage
	line := 1
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		list = append(list, passage{line, joined(inCode.ReplaceAllString(paragraph, "code"))})
		line += strings.Count(paragraph, "\n") + 2
	}
	return list, nil
}

// lineComments returns a reader of comments that begin with a marker and end with the line. Comments of consecutive
// lines are one passage.
func lineComments(marker string) func(string) ([]passage, error) {
	comment := regexp.MustCompile(`^(\s*|.*\s)` + marker + `\s(.*)$`)
	return func(text string) ([]passage, error) {
		var list []passage
		follows := false
		for i, line := range strings.Split(text, "\n") {
			match := comment.FindStringSubmatch(line)
			if match == nil {
				follows = false
				continue
			}
			isAlone := strings.TrimSpace(match[1]) == ""
			if follows && isAlone {
				list[len(list)-1].text += " " + match[2]
			} else {
				list = append(list, passage{i + 1, match[2]})
			}
			follows = isAlone
		}
		return list, nil
	}
}

func joined(text string) string { return strings.Join(strings.Fields(text), " ") }
