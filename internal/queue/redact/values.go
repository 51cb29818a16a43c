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
	// leastSecret is the least number of bytes of a value that is looked for in errors: shorter ones stand in any text.
	leastSecret = 4

	// mostSearch is how much is done to find values in one text, in bytes that are compared: a long text, or one of an attempt
	// whose job holds very many values, is withheld as a whole.
	mostSearch = 64 << 20
)

// Values returns the texts that stand for what is hidden of a job, in the forms in which errors and logs usually have them.
func (h Fields) Values(j Columns) []string {
	found := map[string]bool{}
	for column, value := range j.byName() {
		if paths := h[column]; len(paths) > 0 && value != nil && *value != nil {
			for _, raw := range taken(*value, paths) {
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
		add(inner(string(raw))) // the payload's author may escape in another way
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

// jsonForms returns a string as it stands in JSON: with the characters of HTML escaped as package json does, with as little
// escaped as possible as JavaScript does, and in ASCII as Python does; the last two also with escaped slashes, as PHP writes.
func jsonForms(s string) []string {
	forHTML, _ := json.Marshal(s) // a string can be encoded
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

// urlForms returns a string as it stands in a URL: as Go escapes it in a query, in a part of a path and in a whole path; with %20
// for a space, as PHP's rawurlencode and Python's quote do, the second of which keeps slashes; and as encodeURIComponent and
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

// leaves are the strings and numbers of a JSON value, each time when a name is there twice. The names themselves are not among
// them.
func leaves(in *json.Decoder) (list []any) {
	var awaitsName []bool // by level; false in a list
	var inObject []bool
	for {
		token, err := in.Token()
		if err != nil {
			return list // at the end
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
			awaitsName[level] = inObject[level] // after this value
		}
	}
}

// inner is a quoted text without its quotation marks.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }
