// Package printable makes texts of the database safe to show. Names may hold control characters: plain SQL puts them there. It knows no
// place where texts are shown; package cmd/sqluice, the labels of metrics and the dashboard use it.
package printable

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns a text with its control and formatting characters escaped, line breaks and tabs included: these could move the cursor
// of a terminal, change colours or reverse the text.
func Line(s string) string { return escape(s, Harmful) }

// Lines returns what Line does, with line breaks and tabs kept.
func Lines(s string) string {
	return escape(s, func(r rune) bool { return r != '\n' && r != '\t' && Harmful(r) })
}

// hidden matches characters that a form sends but no browser shows.
var hidden = regexp.MustCompile(`<input type="hidden"[^>]*>`)

// Page returns a page with the characters escaped that no HTML and no raw JSON holds: control characters other than tabs and line breaks.
// Hidden inputs stay as they are: an escaped name would be another name.
func Page(html string) string {
	if strings.IndexFunc(html, inNoPage) < 0 {
		return html
	}
	var b strings.Builder
	from := 0
	for _, at := range hidden.FindAllStringIndex(html, -1) {
		b.WriteString(escape(html[from:at[0]], inNoPage))
		b.WriteString(html[at[0]:at[1]])
		from = at[1]
	}
	b.WriteString(escape(html[from:], inNoPage))
	return b.String()
}

// inNoPage reports whether Page escapes or replaces a character.
func inNoPage(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' || r == utf8.RuneError
}

// JSON returns a JSON text with the characters escaped that terminals obey and JSON allows unescaped. These occur only in strings.
func JSON(text []byte) []byte {
	special := func(r rune) bool { return r >= 0x7f && Harmful(r) }
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

// Harmful reports whether a character is a control or formatting character, or a line separator.
func Harmful(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// escape escapes the characters of s for which special returns true, and replaces bytes that are no UTF-8 by U+FFFD.
func escape(s string, special func(rune) bool) string {
	if strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || special(r) }) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, r := range s { // a byte that is no UTF-8 is U+FFFD here
		switch {
		case !special(r) || r == utf8.RuneError:
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}
