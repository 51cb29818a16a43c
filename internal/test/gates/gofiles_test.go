package gates_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const maxLines = 500

func TestFilesAreShort(t *testing.T) {
	for _, file := range written(t) {
		if lines := strings.Count(read(t, file.path), "\n"); lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: one idea a file", file.path, lines, maxLines)
		}
	}
}

// statement finds SQL in a string: in capitals anywhere, in other letters at the beginning.
var statement = regexp.MustCompile(`(?s)\b(SELECT\s.+\sFROM\s|SELECT\s+\w+\(|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|` +
	`(CREATE|DROP|ALTER)\s+(TABLE|INDEX|VIEW|TRIGGER|UNIQUE)\s|PRAGMA\s+\w|VACUUM\b|BEGIN\s+IMMEDIATE)` +
	`|^\s*(?i:select\s.+\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|create\s+table\s|pragma\s+\w+\s*=)`)

// Their SQL is not the queue's: an application's, the administration of test servers, and the systems that the queue is compared with.
var ownSQL = regexp.MustCompile(`^(examples|internal/test/testdb|bench)/`)

func TestNoSQLInGoStrings(t *testing.T) {
	for _, file := range written(t) {
		if file.isTest() || ownSQL.MatchString(file.path) {
			continue
		}
		ast.Inspect(file.tree, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Errorf("%s:%d: %v", file.path, file.line(literal), err)
			}
			if found := statement.FindString(text); found != "" {
				t.Errorf("%s:%d has SQL in a string (%q): it belongs in a .sql file", file.path, file.line(literal), found)
			}
			return true
		})
	}
}

func TestTheSQLFinderFindsSQL(t *testing.T) {
	for _, sql := range []string{
		"SELECT id FROM jobs", "\n\tselect 1\n from jobs where", "SELECT sqlite_version()", "INSERT INTO jobs (kind)",
		"BEGIN; UPDATE jobs SET status = 'x'", "delete from jobs", "CREATE TABLE t (x)", "PRAGMA journal_mode",
		"VACUUM INTO ?", "DROP INDEX i", "BEGIN IMMEDIATE", "pragma busy_timeout = 1",
	} {
		if !statement.MatchString(sql) {
			t.Errorf("not found: %q", sql)
		}
	}
	for _, prose := range []string{
		"", "update the program", "delete jobs from a queue", "sqlite pragma %s is %s",
		"begin", "create the database", "the status select",
	} {
		if found := statement.FindString(prose); found != "" {
			t.Errorf("taken for SQL: %q", prose)
		}
	}
}

func TestNoInitFunctions(t *testing.T) {
	for _, file := range written(t) {
		for _, decl := range file.tree.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s:%d has an init function: an import has no side effects", file.path, file.line(fn))
			}
		}
	}
}
