package main

import (
	"strconv"
	"strings"
	"unicode"
)

// count formats a number with a comma between each three digits.
func count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return count(n) + " " + thing + "s"
}

// shorten cuts text to n characters and makes it safe for a terminal, whatever the parsed files hold.
func shorten(text string, n int) string {
	clean := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text))
	if len(clean) <= n {
		return string(clean)
	}
	return string(clean[:n-3]) + "..."
}
