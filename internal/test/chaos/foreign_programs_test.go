//go:build linux

package main

import (
	"strings"
	"testing"
)

// TestStatementsOfForeignPrograms: the programs run the statements line by line.
func TestStatementsOfForeignPrograms(t *testing.T) {
	for _, name := range []string{"begin", "begin_read", "commit", "has_tables", "insert_as_others", "integrity_check"} {
		text := statementOf(name)
		line, isLine := strings.CutSuffix(text, ";\n")
		if !isLine || strings.Contains(line, "\n") || strings.Contains(line, "--") {
			t.Errorf("%s is not one line: %q", name, text)
		}
	}
}
