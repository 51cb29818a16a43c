package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// ValidateJSON returns an InvalidError for the field unless data is JSON that every engine accepts and returns byte for byte.
func ValidateJSON(field string, data []byte) error {
	if err := CheckMark(field, data); err != nil {
		return err
	}
	if err := validateText(field, data); err != nil {
		return err
	}
	if !json.Valid(data) {
		return jobtype.NewInvalidError(field, "", "be valid JSON: "+jsonFault(data)) // not quoted: it may hold a secret
	}
	return checkEscapes(field, data)
}

// CheckMark returns an InvalidError for the field if a text begins with a byte order mark, which some editors and shells write and
// no screen shows.
func CheckMark(field string, data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")):
		return jobtype.NewInvalidError(field, "", "not begin with a byte order mark (the bytes EF BB BF): write it as UTF-8 without one")
	case bytes.HasPrefix(data, []byte("\xFF\xFE")), bytes.HasPrefix(data, []byte("\xFE\xFF")):
		return jobtype.NewInvalidError(field, "", "be UTF-8, not UTF-16, whose byte order mark it begins with")
	}
	return nil
}

// ValidateEncoded is ValidateJSON for the output of package json, which is always valid JSON.
func ValidateEncoded(field string, data []byte) error {
	if err := validateText(field, data); err != nil {
		return err
	}
	return checkEscapes(field, data)
}

func validateText(field string, data []byte) error {
	if len(data) > jobtype.MaxPayload {
		return jobtype.NewInvalidError(field, fmt.Sprintf("of %d bytes", len(data)), fmt.Sprintf("be at most %d bytes", jobtype.MaxPayload))
	}
	if !utf8.Valid(data) {
		return jobtype.NewInvalidError(field, "", "be valid UTF-8")
	}
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) <= jobtype.MaxDepth {
		return nil // it cannot be nested deeper than its number of brackets
	}
	if depth := jsonDepth(data); depth > jobtype.MaxDepth {
		return jobtype.NewInvalidError(field, fmt.Sprintf("nested %d levels deep", depth), fmt.Sprintf("be nested at most %d levels deep", jobtype.MaxDepth))
	}
	return nil
}

// jsonDepth returns the deepest nesting of data, which need not be valid JSON: it runs before any recursive function does.
func jsonDepth(data []byte) int {
	depth, deepest, inString := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}

func jsonFault(data []byte) string {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return err.Error()
	}
	return "it is not"
}

// checkEscapes looks at the \u escapes of valid JSON.
func checkEscapes(field string, data []byte) error {
	for i := 0; i < len(data); i++ {
		next := bytes.IndexByte(data[i:], '\\')
		if next < 0 {
			return nil
		}
		i += next + 1
		if data[i] != 'u' {
			continue
		}
		r := hexRune(data[i+1 : i+5])
		i += 4
		switch {
		case r == 0:
			return jobtype.NewInvalidError(field, "", `not hold a NUL (\u0000)`)
		case r >= 0xDC00 && r <= 0xDFFF:
			return jobtype.NewInvalidError(field, fmt.Sprintf(`with \u%04x`, r), "not hold a surrogate without its other half")
		case r >= 0xD800 && r <= 0xDBFF:
			if i+6 >= len(data) || data[i+1] != '\\' || data[i+2] != 'u' {
				return jobtype.NewInvalidError(field, fmt.Sprintf(`with \u%04x`, r), "not hold a surrogate without its other half")
			}
			if low := hexRune(data[i+3 : i+7]); low < 0xDC00 || low > 0xDFFF {
				return jobtype.NewInvalidError(field, fmt.Sprintf(`with \u%04x`, r), "not hold a surrogate without its other half")
			}
			i += 6
		}
	}
	return nil
}

func hexRune(digits []byte) rune {
	n, err := strconv.ParseUint(string(digits), 16, 32)
	if err != nil {
		return -1 // impossible: the JSON is valid
	}
	return rune(n)
}

// AppendString appends s to dst as a JSON string. s is valid UTF-8, so only the characters that JSON forbids are escaped.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		if c == '"' || c == '\\' {
			dst = append(dst, '\\', c)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
