package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// Chinese characters and emoji take two columns of a terminal, and combining characters none.
func TestTablesAlignByWidth(t *testing.T) {
	var b bytes.Buffer
	table := newTable(&b, "KIND", "QUEUE", "STATE")
	table.row("漢字", "q", "open")
	table.row("cafe\u0301", "🚀🚀🚀", "open")
	table.row("k", "", "open")
	table.row("plain")
	if err := table.close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for _, line := range lines[:4] {
		before, _, found := strings.Cut(line, "open")
		if !found {
			before, _, found = strings.Cut(line, "STATE")
		}
		if width := ansi.StringWidth(before); !found || width != 6+8 {
			t.Errorf("the third column of %q begins at %d:\n%s", line, width, b.String())
		}
	}
	if lines[4] != "plain" {
		t.Errorf("the last line is %q", lines[4])
	}
}

func TestEscapeJSONKeepsTheValue(t *testing.T) {
	const value = "a\u009bb\u202ec\x7fd\U000E0001e 世界🙂"
	text, err := encodeJSON(value, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := `"a\u009bb\u202ec\u007fd\udb40\udc01e 世界🙂"`; string(text) != want {
		t.Errorf("encoded as %s, want %s", text, want)
	}
	var back string
	if err := json.Unmarshal(text, &back); err != nil || back != value {
		t.Errorf("decoded as %q, %v, want %q", back, err, value)
	}
}
