package migration

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

var (
	upMark        = regexp.MustCompile(`(?m)^-- \+goose Up[ \t]*$`)
	downMark      = regexp.MustCompile(`(?m)^-- \+goose Down[ \t]*$`)
	noTransaction = regexp.MustCompile(`(?m)^-- \+goose NO TRANSACTION[ \t]*$`)
	concurrently  = regexp.MustCompile(`(?i)\b(INDEX\s+)CONCURRENTLY\b`)
)

// Up returns the statements of a migration as one text that runs in a transaction.
func (s Set) Up(m Migration) (string, error) {
	file, err := fs.ReadFile(s.files, m.Name)
	if err != nil {
		return "", err
	}
	text := string(file)
	from := upMark.FindStringIndex(text)
	if from == nil {
		return "", fmt.Errorf("migration %s has no line `-- +goose Up`", m.Name)
	}
	alone := noTransaction.MatchString(text)
	text = text[from[1]:]
	if to := downMark.FindStringIndex(text); to != nil {
		text = text[:to[0]]
	}
	if alone {
		text = concurrently.ReplaceAllString(text, "$1")
	}
	return strings.TrimSpace(text), nil
}
