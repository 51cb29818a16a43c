package main

import (
	"encoding/json"
	"testing"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain grüße 世界 🙂":    "plain grüße 世界 🙂",
		"a\x1b[31mb\x07":      `a\x1b[31mb\x07`,
		"a\nb\tc\rd":          `a\nb\tc\rd`,
		"a\u009b31mb\u202ec":  `a\u{9b}31mb\u{202e}c`,
		"bad \xff end\u2028.": "bad \uFFFD end\\u{2028}.",
		"kept \uFFFD":         "kept \uFFFD",
	} {
		if got := printable(text, oneLine); got != want {
			t.Errorf("printable(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := printable("a\n\tb\x1b\r", keepLines), "a\n\tb\\x1b\\r"; got != want {
		t.Errorf("printable, lines kept = %q, want %q", got, want)
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
