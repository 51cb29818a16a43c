package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"

	"github.com/sqluice/sqluice/jobs"
)

// file is the payload of a job: the file to parse, relative to the folder that the workers were given.
type file struct {
	Path string `json:"path"`
}

// facts is the result of a job.
type facts struct {
	Package   string `json:"package"`
	Functions int    `json:"functions"`
	Lines     int    `json:"lines"`
	Bytes     int    `json:"bytes"`
	SHA256    string `json:"sha256"`
}

// parseFile is the demo's kind of job. Its attempts are for crashes: an error fails the job at once.
var parseFile = jobs.Kind[file]{Name: "parse-go-file", MaxAttempts: 3}

// parse is the handler's work. It returns a syntax error as the parser's own message.
func parse(folder, path string) (facts, error) {
	source, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(path)))
	if err != nil {
		return facts{}, err
	}
	tree, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		return facts{}, err
	}
	digest := sha256.Sum256(source)
	f := facts{
		Package: tree.Name.Name, Lines: bytes.Count(source, []byte("\n")), Bytes: len(source),
		SHA256: hex.EncodeToString(digest[:]),
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			f.Functions++
		}
		return true
	})
	return f, nil
}
