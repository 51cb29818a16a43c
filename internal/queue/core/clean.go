package core

import "strings"

// Clean returns text that every engine accepts: valid UTF-8 without NUL, shortened to n bytes.
func Clean(s string, n int) string {
	return Cut(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD"), n)
}

// Cut returns the beginning of a valid text, with an ellipsis when it is longer than n bytes.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len("...")], "") + "..."
}
