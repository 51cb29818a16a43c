package main

import (
	"errors"
	"strings"
)

// splitWords splits a command line the way shells quote, and does nothing else that a shell does: no variables, no
// patterns, no pipes. Words are separated by blanks, tabs and line breaks. Between single quotes everything stands for
// itself. Between double quotes a backslash takes away the meaning of a double quote or a backslash; outside quotes,
// of any character. It goes by bytes, since names of files need not be UTF-8; all that has a meaning is one byte, which is
// part of no other character.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false // an empty pair of quotes is a word too
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case '\\':
			i++
			if i == len(line) {
				return nil, errors.New("a backslash at the end takes no character")
			}
			word.WriteByte(line[i])
			inWord = true
		case '\'', '"':
			end := quoted(&word, line, i)
			if end < 0 {
				return nil, errors.New("the quote " + string(c) + " is not closed")
			}
			i, inWord = end, true
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted adds what stands between the quote at line[start] and its partner, and returns the partner's place or -1.
func quoted(word *strings.Builder, line string, start int) int {
	quote := line[start]
	for i := start + 1; i < len(line); i++ {
		switch c := line[i]; {
		case c == quote:
			return i
		case c == '\\' && quote == '"' && i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\\'):
			i++
			word.WriteByte(line[i])
		default:
			word.WriteByte(c)
		}
	}
	return -1
}
