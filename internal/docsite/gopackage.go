package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

const modulePath = "github.com/sqluice/sqluice/"

// reference writes the page of a package.
type reference struct {
	root string
	name string // of the package, below the module's path
	set  *token.FileSet
	doc  *doc.Package
	text strings.Builder
	err  error
}

// packagePage returns the reference of a public package, from its comments, declarations and examples.
func packagePage(root, name string) (string, error) {
	r := &reference{root: root, name: name}
	var err error
	if r.doc, r.set, err = load(root, name); err != nil {
		return "", err
	}
	r.page()
	return r.text.String(), r.err
}

// load reads the documentation of a package.
func load(root, name string) (*doc.Package, *token.FileSet, error) {
	folder := filepath.Join(root, filepath.FromSlash(name))
	context := build.Default
	context.GOOS, context.GOARCH = "linux", "amd64" // the same page on every machine
	found, err := context.ImportDir(folder, 0)
	if err != nil {
		return nil, nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, file := range slices.Concat(found.GoFiles, found.TestGoFiles, found.XTestGoFiles) {
		tree, err := parser.ParseFile(set, filepath.Join(folder, file), nil, parser.ParseComments)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, tree)
	}
	p, err := doc.NewFromFiles(set, files, modulePath+name)
	return p, set, err
}

func (r *reference) page() {
	fmt.Fprintf(&r.text, "# Package %s\n\n", r.name)
	r.code("import \"" + modulePath + r.name + "\"")
	r.prose(r.doc, r.doc.Doc)
	r.examples(r.doc.Examples)
	r.values("Constants", r.doc.Consts)
	r.values("Variables", r.doc.Vars)
	for _, f := range r.doc.Funcs {
		r.function(f)
	}
	for _, t := range r.doc.Types {
		r.typed(t)
	}
}

// prose writes a comment of package p as Markdown.
func (r *reference) prose(p *doc.Package, text string) {
	printer := p.Printer()
	printer.HeadingLevel = 2
	printer.HeadingID = func(*comment.Heading) string { return "" }
	printer.DocLinkURL = func(link *comment.DocLink) string { return r.link(p, link) }
	for _, block := range p.Parser().Parse(text).Content {
		if code, isCode := block.(*comment.Code); isCode {
			r.code(code.Text)
			continue
		}
		r.text.Write(printer.Markdown(&comment.Doc{Content: []comment.Block{block}}))
		r.text.WriteString("\n")
	}
}

// link returns the target of a name in a comment: a page of the site, or the reference of another module.
func (r *reference) link(p *doc.Package, to *comment.DocLink) string {
	name := to.Name
	if to.Recv != "" {
		name = to.Recv + "." + name
	}
	if name != "" {
		name = "#" + name
	}
	imported := to.ImportPath
	if imported == "" {
		imported = p.ImportPath
	}
	local, isOurs := strings.CutPrefix(imported, modulePath)
	switch {
	case local == r.name, local == "jobs/jobtype" && r.name == "jobs":
		return name
	case local == "jobs/jobtype":
		return "/go/jobs.md" + name
	case isOurs && !strings.HasPrefix(local, "internal/"):
		return "/go/" + local + ".md" + name
	}
	return "https://pkg.go.dev/" + imported + name
}

func (r *reference) code(text string) {
	fmt.Fprintf(&r.text, "```go\n%s\n```\n\n", strings.TrimSpace(text))
}

// declared returns a declaration as source.
func declared(set *token.FileSet, node any) string {
	if f, isFunc := node.(*ast.FuncDecl); isFunc {
		bare := *f
		bare.Body, bare.Doc = nil, nil
		node = &bare
	}
	if g, isGroup := node.(*ast.GenDecl); isGroup {
		bare := *g
		bare.Doc = nil
		node = &bare
	}
	var text bytes.Buffer
	if err := format.Node(&text, set, node); err != nil {
		return err.Error()
	}
	return text.String()
}

func (r *reference) values(title string, list []*doc.Value) {
	if len(list) > 0 && title != "" {
		fmt.Fprintf(&r.text, "## %s\n\n", title)
	}
	for _, v := range list {
		for _, name := range v.Names {
			r.anchor(name)
		}
		r.text.WriteString("\n")
		r.code(declared(r.set, v.Decl))
		r.prose(r.doc, v.Doc)
	}
}

func (r *reference) function(f *doc.Func) {
	fmt.Fprintf(&r.text, "## func %s {#%s}\n\n", f.Name, f.Name)
	r.code(declared(r.set, f.Decl))
	r.prose(r.doc, f.Doc)
	r.examples(f.Examples)
}

func (r *reference) typed(t *doc.Type) {
	fmt.Fprintf(&r.text, "## type %s {#%s}\n\n", t.Name, t.Name)
	r.fields(t.Name, t.Decl)
	r.code(declared(r.set, t.Decl))
	r.prose(r.doc, t.Doc)
	r.aliased(t)
	r.values("", t.Consts)
	r.values("", t.Vars)
	r.examples(t.Examples)
	for _, f := range t.Funcs {
		fmt.Fprintf(&r.text, "### func %s {#%s}\n\n", f.Name, f.Name)
		r.code(declared(r.set, f.Decl))
		r.prose(r.doc, f.Doc)
		r.examples(f.Examples)
	}
	r.methods(r.doc, r.set, t.Name, t)
}

// fields writes an anchor for each field of a struct and each method of an interface.
func (r *reference) fields(typeName string, decl *ast.GenDecl) {
	var list *ast.FieldList
	switch of := decl.Specs[0].(*ast.TypeSpec).Type.(type) {
	case *ast.StructType:
		list = of.Fields
	case *ast.InterfaceType:
		list = of.Methods
	default:
		return
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			r.anchor(typeName + "." + name.Name)
		}
	}
	r.text.WriteString("\n")
}

// anchor writes a target of links.
func (r *reference) anchor(name string) { fmt.Fprintf(&r.text, "<a id=%q></a>\n", name) }

func (r *reference) methods(p *doc.Package, set *token.FileSet, typeName string, t *doc.Type) {
	for _, m := range t.Methods {
		fmt.Fprintf(&r.text, "### %s.%s {#%s.%s}\n\n", typeName, m.Name, typeName, m.Name)
		r.code(declared(set, m.Decl))
		r.prose(p, m.Doc)
		r.examples(m.Examples)
	}
}

// aliased writes the declaration and the methods of a type that is an alias of one of package jobs/jobtype.
func (r *reference) aliased(t *doc.Type) {
	spec, isType := t.Decl.Specs[0].(*ast.TypeSpec)
	if !isType || !spec.Assign.IsValid() {
		return
	}
	of, isSelector := spec.Type.(*ast.SelectorExpr)
	if !isSelector || fmt.Sprint(of.X) != "jobtype" {
		return
	}
	p, set, err := load(r.root, "jobs/jobtype")
	if err != nil {
		r.err = err
		return
	}
	for _, original := range p.Types {
		if original.Name == of.Sel.Name {
			r.fields(t.Name, original.Decl)
			r.code(declared(set, original.Decl))
			r.methods(p, set, t.Name, original)
		}
	}
}

func (r *reference) examples(list []*doc.Example) {
	for _, e := range list {
		title := "Example"
		if e.Suffix != "" {
			title += ": " + strings.ReplaceAll(e.Suffix, "_", " ")
		}
		fmt.Fprintf(&r.text, "**%s**\n\n", title)
		if e.Doc != "" {
			r.prose(r.doc, e.Doc)
		}
		source := declared(r.set, e.Code)
		if _, isBlock := e.Code.(*ast.BlockStmt); isBlock {
			source = strings.TrimSuffix(strings.TrimPrefix(source, "{"), "}")
			source = strings.ReplaceAll(source, "\n\t", "\n")
		}
		r.code(source)
		if e.Output != "" {
			fmt.Fprintf(&r.text, "```text\n%s```\n\n", e.Output)
		}
	}
}
