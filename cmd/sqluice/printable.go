package main

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	safe "github.com/sqluice/sqluice/internal/printable"
)

// lines says how printable treats line breaks and tabs.
type lines int

const (
	oneLine   lines = iota // escaped like everything else
	keepLines              // kept
)

// printable makes text of the database or the system safe for a terminal: it escapes control and formatting characters, which
// could move the cursor, change colours or reverse the text.
func printable(s string, l lines) string {
	if l == keepLines {
		return safe.Lines(s)
	}
	return safe.Line(s)
}

// escapeJSON escapes characters that JSON allows unescaped and that terminals obey. They can occur only in strings.
func escapeJSON(text []byte) []byte {
	special := func(r rune) bool { return r >= 0x7f && harmful(r) }
	if bytes.IndexFunc(text, special) < 0 {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch high, low := utf16.EncodeRune(r); {
		case !special(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// shorten cuts a line to most characters.
func shorten(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}

// harmful reports whether a terminal may obey a character.
func harmful(r rune) bool { return safe.Harmful(r) }
