package main

import (
	"slices"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		``:                          nil,
		` a  b` + "\tc\nd ":         {"a", "b", "c", "d"},
		`a 'b c' d`:                 {"a", "b c", "d"},
		`a "b c" d`:                 {"a", "b c", "d"},
		`a b\ c`:                    {"a", "b c"},
		`a '' ""`:                   {"a", "", ""},
		`--x='y z'w`:                {"--x=y zw"},
		`'a\b"c' "d\"e\\f\g" h\'i`:  {`a\b"c`, `d"e\f\g`, `h'i`},
		"'caf\xe9' \\\xe9\xff":      {"caf\xe9", "\xe9\xff"}, // a name of a file need not be UTF-8
		`$HOME * | > ; & #x`:        {"$HOME", "*", "|", ">", ";", "&", "#x"},
		`'grüße 世界' "` + "\n" + `"`: {"grüße 世界", "\n"},
	} {
		got, err := splitWords(line)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("splitWords(%q) = %q, %v, want %q", line, got, err, want)
		}
	}
	for _, line := range []string{`a 'b`, `a "b`, `a "b\"`, `a \`} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("splitWords(%q) = %q, want an error", line, got)
		}
	}
}
