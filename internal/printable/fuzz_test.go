package printable

import (
	"strings"
	"testing"
)

// Printed text has no control sequences for a terminal, and harmless text is unchanged.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "a b", "\x1b[2J", "\u202eabc", "\xff\xfe", "\u2028", "日本語", "\r\n\t", "\U000e0041", "\ufffd"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, show := range map[string]func(string) string{"Line": Line, "Lines": Lines} {
			got := show(text)
			if strings.ContainsFunc(got, func(r rune) bool { return Harmful(r) && (name == "Line" || r != '\n' && r != '\t') }) {
				t.Errorf("%q is printed as %q", text, got)
			}
			if again := show(got); again != got {
				t.Errorf("%q is printed as %q, and that as %q", text, got, again)
			}
		}
		if strings.ToValidUTF8(text, "") == text && !strings.ContainsFunc(text, Harmful) && Line(text) != text {
			t.Errorf("%q is printed as %q", text, Line(text))
		}
	})
}
