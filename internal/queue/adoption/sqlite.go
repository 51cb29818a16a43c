package adoption

import (
	"slices"
	"strings"
)

// OfSQLite returns the parts that a row of sqlite_schema defines: a table with its columns and constraints, an index, a trigger or a view.
func OfSQLite(kind, table, name, text string) []Part {
	words := sqliteTokens(text)
	if kind != "table" {
		if kind == "view" {
			table = ""
		}
		return []Part{{Type: kind, Table: table, Name: name, Definition: strings.Join(words, " ")}}
	}
	items, options := itemsOf(words)
	parts := []Part{{Type: "table", Name: name, Definition: strings.Join(options, " ")}}
	for _, item := range items {
		parts = append(parts, partOf(name, item))
	}
	return parts
}

// sqliteTokens returns the tokens of a definition in one form: words in small letters, names without quotes, no IF NOT EXISTS.
func sqliteTokens(text string) []string {
	words := tokens(text)
	for i, w := range words {
		bare := strings.Trim(w, "\"`")
		switch {
		case w[0] == '\'':
		case (w[0] == '"' || w[0] == '`') && plainName.MatchString(bare):
			words[i] = strings.ToLower(bare)
		default:
			words[i] = strings.ToLower(w)
		}
	}
	if i := slices.Index(words, "if"); i > 0 && i+2 < len(words) && words[i+1] == "not" && words[i+2] == "exists" {
		words = slices.Delete(words, i, i+3)
	}
	return words
}

// itemsOf returns the items between the parentheses of CREATE TABLE, and the options after them.
func itemsOf(words []string) (items [][]string, options []string) {
	depth, start := 0, 0
	for i, w := range words {
		switch {
		case w == "(":
			if depth++; depth == 1 {
				start = i + 1
			}
		case w == ")":
			if depth--; depth == 0 {
				return append(items, words[start:i]), words[i+1:]
			}
		case w == "," && depth == 1:
			items = append(items, words[start:i])
			start = i + 1
		}
	}
	return items, nil
}

// partOf returns the column or the constraint that an item of CREATE TABLE defines.
func partOf(table string, item []string) Part {
	text := strings.Join(item, " ")
	switch {
	case len(item) > 1 && item[0] == "constraint":
		return Part{Type: "constraint", Table: table, Name: item[1], Definition: text}
	case len(item) == 0 || slices.Contains([]string{"primary", "unique", "check", "foreign"}, item[0]):
		return Part{Type: "constraint", Table: table, Name: text, Definition: text}
	default:
		return Part{Type: "column", Table: table, Name: item[0], Definition: strings.Join(item[1:], " ")}
	}
}
