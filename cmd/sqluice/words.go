package main

import (
	"errors"
	"strings"
)

// splitWords splits a command line the way shells quote, and does nothing else that a shell does: no variables, no
// patterns, no pipes. Words are separated by blanks, tabs and line breaks. Between single quotes everything stands for
// itself. Between double quotes a backslash takes away the meaning of a double quote or a backslash; outside quotes,
// of any character.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false // an empty pair of quotes is a word too
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; r {
		case ' ', '\t', '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case '\\':
			i++
			if i == len(runes) {
				return nil, errors.New("a backslash at the end takes no character")
			}
			word.WriteRune(runes[i])
			inWord = true
		case '\'', '"':
			end := quoted(&word, runes, i)
			if end < 0 {
				return nil, errors.New("the quote " + string(r) + " is not closed")
			}
			i, inWord = end, true
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted adds what stands between the quote at runes[start] and its partner, and returns the partner's place or -1.
func quoted(word *strings.Builder, runes []rune, start int) int {
	quote := runes[start]
	for i := start + 1; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == quote:
			return i
		case r == '\\' && quote == '"' && i+1 < len(runes) && (runes[i+1] == '"' || runes[i+1] == '\\'):
			i++
			word.WriteRune(runes[i])
		default:
			word.WriteRune(r)
		}
	}
	return -1
}
