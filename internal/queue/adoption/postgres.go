package adoption

import (
	"slices"
	"strings"
)

// OfPostgres returns a part by its row of the catalogue. The server nests AND and OR as they were written, but flat after a load from a
// dump; so every definition except a function's is made flat.
func OfPostgres(kind, table, name, definition string) []Part {
	if kind != "function" {
		words := tokens(definition)
		definition = text(parse(&words).flat())
	}
	return []Part{{Type: kind, Table: table, Name: name, Definition: definition}}
}

// node is a word, or a group in parentheses.
type node struct {
	word  string
	group []node // the nodes of a group; nil for a word
}

// parse returns the nodes up to the parenthesis that closes the group, as a group.
func parse(words *[]string) node {
	var group []node
	for len(*words) > 0 {
		w := (*words)[0]
		*words = (*words)[1:]
		switch w {
		case "(":
			group = append(group, parse(words))
		case ")":
			return node{group: group}
		default:
			group = append(group, node{word: w})
		}
	}
	return node{group: group}
}

// flat returns the node without parentheses that change nothing: around a group, and around operands that are joined by the same word.
func (n node) flat() node {
	if n.word != "" {
		return n
	}
	group := make([]node, len(n.group))
	for i, child := range n.group {
		group[i] = child.flat()
	}
	if len(group) == 1 && group[0].word == "" {
		return group[0]
	}
	joined := joiner(group)
	var all []node
	for i, child := range group {
		alone := (i == 0 || group[i-1].word == joined) && (i == len(group)-1 || group[i+1].word == joined)
		if joined != "" && alone && child.word == "" && joiner(child.group) == joined {
			all = append(all, child.group...)
		} else {
			all = append(all, child)
		}
	}
	return node{group: all}
}

// joiner returns AND or OR when it is the only one of the two between the nodes, and "" otherwise.
func joiner(nodes []node) string {
	has := func(word string) bool {
		return slices.ContainsFunc(nodes, func(n node) bool { return n.word == word })
	}
	switch and, or := has("AND"), has("OR"); {
	case and && !or:
		return "AND"
	case or && !and:
		return "OR"
	default:
		return ""
	}
}

// text returns the words of a group.
func text(n node) string {
	var words []string
	for _, child := range n.group {
		if child.word != "" {
			words = append(words, child.word)
		} else {
			words = append(words, "("+text(child)+")")
		}
	}
	return strings.Join(words, " ")
}
