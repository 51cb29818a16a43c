package redact

import (
	"encoding/json"
	"strings"
)

// redact replaces the values at the paths by [jobtype.Redacted], and copies every other byte. It
// compares names as package json does for a struct, in any letter case; a path applies to both members of a repeated name. A
// value that is no object where a path expects one is redacted too: the marks were not made for it.
func redact(text json.RawMessage, paths [][]string) json.RawMessage {
	if !json.Valid(text) {
		return json.RawMessage(redactedJSON)
	}
	r := redactor{in: text}
	r.value(paths)
	r.space()
	return r.out
}

// selectValues returns the values at the paths.
func selectValues(text json.RawMessage, paths [][]string) []json.RawMessage {
	if !json.Valid(text) {
		return []json.RawMessage{text}
	}
	r := redactor{in: text}
	r.value(paths)
	return r.selected
}

// redactor reads valid JSON.
type redactor struct {
	in       []byte
	at       int
	out      []byte
	selected []json.RawMessage
}

// value copies a value and redacts the values that the paths lead to.
func (r *redactor) value(paths [][]string) {
	r.space()
	start := r.at
	whole := len(paths) == 0
	for _, path := range paths {
		if len(path) == 0 {
			r.skip()
			r.redactSince(start)
			return
		}
	}
	switch c := r.in[r.at]; {
	case whole:
		r.skip()
		r.out = append(r.out, r.in[start:r.at]...)
	case c == '{':
		r.object(paths)
	case c == '[':
		r.array(paths)
	default:
		r.skip()
		if text := r.in[start:r.at]; string(text) == "null" {
			r.out = append(r.out, text...)
		} else {
			r.redactSince(start)
		}
	}
}

// redactSince writes the placeholder for the text since start, and adds that text to selected.
func (r *redactor) redactSince(start int) {
	r.selected = append(r.selected, r.in[start:r.at])
	r.out = append(r.out, redactedJSON...)
}

func (r *redactor) object(paths [][]string) {
	r.copy() // {
	for r.space(); r.in[r.at] != '}'; r.space() {
		if r.in[r.at] == ',' {
			r.copy()
			r.space()
		}
		start := r.at
		r.skip()
		raw := r.in[start:r.at]
		r.out = append(r.out, raw...)
		r.space()
		r.copy() // :
		r.value(below(paths, raw))
	}
	r.copy()
}

// below returns the rest of the paths that lead into the member of an object with this name, a JSON string.
func below(paths [][]string, raw []byte) (list [][]string) {
	var name string
	known := json.Unmarshal(raw, &name) == nil
	for _, path := range paths {
		if path[0] == "*" || !known || strings.EqualFold(path[0], name) {
			list = append(list, path[1:])
		}
	}
	return list
}

// array handles each element: * stands for it, and a name is looked for in all of them.
func (r *redactor) array(paths [][]string) {
	inside := make([][]string, len(paths))
	for i, path := range paths {
		inside[i] = path
		if path[0] == "*" {
			inside[i] = path[1:]
		}
	}
	r.copy() // [
	for r.space(); r.in[r.at] != ']'; r.space() {
		if r.in[r.at] == ',' {
			r.copy()
		}
		r.value(inside)
	}
	r.copy()
}

// space copies white space.
func (r *redactor) space() {
	for r.at < len(r.in) && strings.IndexByte(" \t\r\n", r.in[r.at]) >= 0 {
		r.copy()
	}
}

func (r *redactor) copy() {
	r.out = append(r.out, r.in[r.at])
	r.at++
}

// skip passes over a value.
func (r *redactor) skip() {
	switch r.in[r.at] {
	case '"':
		r.skipString()
	case '{', '[':
		r.skipNested()
	default:
		r.skipWord()
	}
}

func (r *redactor) skipString() {
	for r.at++; r.in[r.at] != '"'; r.at++ {
		if r.in[r.at] == '\\' {
			r.at++
		}
	}
	r.at++
}

// skipNested passes over an object or an array.
func (r *redactor) skipNested() {
	for depth := 0; ; {
		switch r.in[r.at] {
		case '"':
			r.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		r.at++
		if depth == 0 {
			return
		}
	}
}

// skipWord passes over a number, true, false or null.
func (r *redactor) skipWord() {
	for r.at < len(r.in) && strings.IndexByte(",]} \t\r\n", r.in[r.at]) < 0 {
		r.at++
	}
}
