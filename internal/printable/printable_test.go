package printable_test

import (
	"testing"

	"github.com/sqluice/sqluice/internal/printable"
)

func TestEscapes(t *testing.T) {
	const name = "a\x1b[31m\n\tb\u009b\u202ec\xffd\r\x7f"
	for what, got := range map[string][2]string{
		"a line": {printable.Line(name), `a\x1b[31m\n\tb\u{9b}\u{202e}c` + "\ufffd" + `d\r\x7f`},
		"lines":  {printable.Lines(name), `a\x1b[31m` + "\n\t" + `b\u{9b}\u{202e}c` + "\ufffd" + `d\r\x7f`},
		"a page": {printable.Page(name), `a\x1b[31m` + "\n\t" + `b\u{9b}` + "\u202ec\ufffdd\r" + `\x7f`},
		"a form": {printable.Page("\x1b<input type=\"hidden\" value=\"\x1b\">\x1b"), "\\x1b<input type=\"hidden\" value=\"\x1b\">\\x1b"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s is %q, want %q", what, got[0], got[1])
		}
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain grüße 世界 🙂":    "plain grüße 世界 🙂",
		"a\x1b[31mb\x07":      `a\x1b[31mb\x07`,
		"a\nb\tc\rd":          `a\nb\tc\rd`,
		"a\u009b31mb\u202ec":  `a\u{9b}31mb\u{202e}c`,
		"bad \xff end\u2028.": "bad \uFFFD end\\u{2028}.",
		"kept \uFFFD":         "kept \uFFFD",
	} {
		if got := printable.Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := printable.Lines("a\n\tb\x1b\r"), "a\n\tb\\x1b\\r"; got != want {
		t.Errorf("Lines = %q, want %q", got, want)
	}
}
