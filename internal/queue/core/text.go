package core

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Encode returns a Go value as JSON that every engine accepts; field names it in the error.
func Encode(field string, v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", field, err)
	}
	if err := ValidateJSON(field, data); err != nil {
		return "", err
	}
	return string(data), nil
}

// ValidateName returns an [InvalidError] for the field unless name is one that a kind, queue, worker or tag may have:
// valid UTF-8, 1 to [MaxNameLength] characters, none of them a control character.
func ValidateName(field, name string) error { return CheckText(field, name, jobtype.MaxNameLength) }

// CheckText returns an InvalidError for the field unless s is valid UTF-8 of 1 to most characters, none of them a control
// character.
func CheckText(field, s string, most int) error {
	if s == "" {
		return jobtype.NewInvalidError(field, "", "not be empty")
	}
	if !utf8.ValidString(s) {
		return jobtype.NewInvalidError(field, strconv.Quote(s), "be valid UTF-8")
	}
	if n := utf8.RuneCountInString(s); n > most {
		return jobtype.NewInvalidError(field, strconv.Quote(s), fmt.Sprintf("be at most %d characters, not %d", most, n))
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return jobtype.NewInvalidError(field, strconv.Quote(s), "hold no control character")
		}
	}
	return nil
}

// CheckPortable returns an InvalidError for the field if s is a text that PostgreSQL accepts in no parameter: it has a NUL, or is no
// UTF-8. It is for texts by which rows are looked up: a row written with the CHECKs off may have a text that [CheckText] refuses.
func CheckPortable(field, s string) error {
	if !utf8.ValidString(s) {
		return jobtype.NewInvalidError(field, strconv.Quote(s), "be valid UTF-8")
	}
	if strings.ContainsRune(s, 0) {
		return jobtype.NewInvalidError(field, strconv.Quote(s), "hold no NUL")
	}
	return nil
}
