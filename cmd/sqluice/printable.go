package main

import safe "github.com/sqluice/sqluice/internal/printable"

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

// harmful reports whether a terminal may obey a character.
func harmful(r rune) bool { return safe.Harmful(r) }
