package adoption

import (
	"regexp"
	"strings"
)

// token matches a comment, a text, a name in quotes, a word, an operator, white space, or one other character of an SQL text.
var token = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|` + "`(?:[^`]|``)*`" + `|[\w$]+|::|->>?|[<>=!|]{2}|\s+|.`)

// plainName matches a name that needs no quotes.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// tokens returns the tokens of an SQL text without comments and white space.
func tokens(text string) []string {
	var all []string
	for _, t := range token.FindAllString(text, -1) {
		if strings.TrimSpace(t) == "" || strings.HasPrefix(t, "--") || strings.HasPrefix(t, "/*") {
			continue
		}
		all = append(all, t)
	}
	return all
}
