package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// leastSecret is the smallest number of bytes of a value that is looked for in errors: shorter values occur in any text.
	leastSecret = 4

	// mostSearch bounds the search for values in one text, in compared bytes: beyond it a text, because it is long or its job
	// holds very many values, is withheld as a whole.
	mostSearch = 64 << 20
)

// Values returns the texts that stand for the hidden values of a job, in the forms in which errors and logs usually have them.
func (h Fields) Values(j Columns) []string {
	found := map[string]bool{}
	for column, value := range j.byName() {
		if paths := h[column]; len(paths) > 0 && value != nil && *value != nil {
			for _, raw := range selectValues(*value, paths) {
				addTexts(found, raw)
			}
		}
	}
	return slices.Collect(maps.Keys(found))
}

// addTexts adds the strings and numbers of a JSON value, in the forms in which errors and logs usually have them.
func addTexts(found map[string]bool, raw json.RawMessage) {
	add := func(forms ...string) {
		for _, text := range forms {
			if len(text) >= leastSecret {
				found[text] = true
			}
		}
	}
	if len(raw) > 1 && raw[0] == '"' {
		add(inner(string(raw))) // the payload's author may use other escapes
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	for _, v := range leaves(in) {
		switch v := v.(type) {
		case string:
			add(v, inner(strconv.Quote(v)), inner(strconv.QuoteToASCII(v)))
			add(jsonForms(v)...)
			add(urlForms(v)...)
		case json.Number:
			add(v.String())
			if f, err := v.Float64(); err == nil {
				add(strconv.FormatFloat(f, 'g', -1, 64), strconv.FormatFloat(f, 'f', -1, 64))
			}
		}
	}
}

// jsonForms returns a string in its JSON forms: with the characters of HTML escaped as package json does, with as little
// escaped as possible as JavaScript does, and in ASCII as Python does; the last two also with escaped slashes, as PHP writes.
func jsonForms(s string) []string {
	forHTML, _ := json.Marshal(s) // encoding a string cannot fail
	plain := inner(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\\`, `\\`).Replace(string(forHTML)))
	var ascii strings.Builder
	for _, r := range plain {
		switch high, low := utf16.EncodeRune(r); {
		case r < utf8.RuneSelf:
			ascii.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		}
	}
	slashes := strings.NewReplacer("/", `\/`)
	return []string{inner(string(forHTML)), plain, ascii.String(), slashes.Replace(plain), slashes.Replace(ascii.String())}
}

// urlForms returns a string in its URL forms: as Go escapes it in a query, in a part of a path and in a whole path; with %20 for
// a space, as PHP's rawurlencode and Python's quote do, the second of which keeps slashes; and as encodeURIComponent and
// encodeURI of JavaScript do.
func urlForms(s string) []string {
	query := url.QueryEscape(s)
	percent := strings.ReplaceAll(query, "+", "%20")
	component := strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(percent)
	whole := strings.NewReplacer("%3B", ";", "%2F", "/", "%3F", "?", "%3A", ":", "%40", "@", "%26", "&", "%3D", "=", "%2B", "+",
		"%24", "$", "%2C", ",", "%23", "#").Replace(component)
	path := (&url.URL{Path: s}).EscapedPath()
	return []string{query, url.PathEscape(s), path, percent, strings.ReplaceAll(percent, "%2F", "/"), component, whole}
}

// leaves returns the strings and numbers of a JSON value, all of them when a name is repeated, but not the names.
func leaves(in *json.Decoder) (list []any) {
	var awaitsName []bool // for each level: an object's next token is a name; false in a list
	var inObject []bool
	for {
		token, err := in.Token()
		if err != nil {
			return list // the end of the value
		}
		level := len(inObject) - 1
		delim, isDelim := token.(json.Delim)
		switch {
		case isDelim && (delim == '}' || delim == ']'):
			inObject, awaitsName = inObject[:level], awaitsName[:level]
			continue
		case level >= 0 && awaitsName[level]:
			awaitsName[level] = false
			continue
		case isDelim:
			inObject, awaitsName = append(inObject, delim == '{'), append(awaitsName, delim == '{')
		default:
			list = append(list, token)
		}
		if level >= 0 {
			awaitsName[level] = inObject[level] // a name follows this value
		}
	}
}

// inner returns a quoted text without its quotation marks.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }
