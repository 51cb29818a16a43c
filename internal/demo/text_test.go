package main

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q, not %q", n, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for text, want := range map[string]string{
		"short": "short", "ten runes!": "ten runes!", "eleven rune": "eleven ...", "\x1b[31mred": "?[31mred", "übergröße": "übergröße",
	} {
		if got := shorten(text, 10); got != want {
			t.Errorf("shorten(%q) = %q, not %q", text, got, want)
		}
	}
}
