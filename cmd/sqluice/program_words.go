package main

import (
	"errors"
	"strings"
)

// splitWords splits a command line and its quotes as shells do, without variables, patterns and pipes. Blanks, tabs and line
// breaks separate words. Between single quotes no character is special. Between double quotes a backslash escapes a double
// quote or a backslash; outside quotes, any character. It works on bytes, since names of files need not be UTF-8: all special
// characters are single bytes, which are part of no other character.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false // a pair of quotes without content is a word too
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
				return nil, errors.New("the backslash at the end has no character after it: remove it, or write two")
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

// quoted appends the text between the quote at line[start] and the closing one, and returns the position of that, or -1.
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
