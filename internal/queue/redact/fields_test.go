package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

func pathsOf(t testing.TB, texts ...string) Fields {
	h := Fields{}
	for _, text := range texts {
		if _, _, err := parsePath(text); err != nil {
			t.Fatal(err)
		}
		h.Hide(text)
	}
	return h
}

func TestRedact(t *testing.T) {
	for _, test := range []struct{ paths, in, out string }{
		{"*", `{"a": 1}`, `#`},
		{"*", `null`, `#`},
		{"a", `{"a": 1, "b": 2}`, `{"a": #, "b": 2}`},
		{"a", ` { "b" : [ 1 , {} , "x" ] , "a" : { "a" : [ "}" ] } } `, ` { "b" : [ 1 , {} , "x" ] , "a" : # } `},
		{"a", `{"a":null,"b":null}`, `{"a":#,"b":null}`},
		{"a", `{"A":1,"a":2,"\u0061":3,"aa":4}`, `{"A":#,"a":#,"\u0061":#,"aa":4}`},
		{"a.b", `{"a":{"b":1,"c":2},"b":3}`, `{"a":{"b":#,"c":2},"b":3}`},
		{"a.b", `{"a":"4111","c":1}`, `{"a":#,"c":1}`}, // no object, although one is expected
		{"a.b", `{"a":4111}`, `{"a":#}`},
		{"a.b", `{"a":null}`, `{"a":null}`},
		{"a.b", `{"a":[{"b":1},{"c":2},[{"b":3}],4]}`, `{"a":[{"b":#},{"c":2},[{"b":#}],#]}`},
		{"a.*.b", `{"a":[{"b":1,"c":2},{"b":{}}]}`, `{"a":[{"b":#,"c":2},{"b":#}]}`},
		{"a.*.b", `{"a":{"x":{"b":1,"c":2},"y":{"b":3}}}`, `{"a":{"x":{"b":#,"c":2},"y":{"b":#}}}`},
		{"a.*", `{"a":{"x":1,"y":[2]},"b":3}`, `{"a":{"x":#,"y":#},"b":3}`},
		{"a.*", `{"a":[1,[2],{"b":3}],"b":3}`, `{"a":[#,#,#],"b":3}`},
		{"*.b", `{"x":{"b":1,"c":2},"y":[{"b":3}]}`, `{"x":{"b":#,"c":2},"y":[{"b":#}]}`},
		{"a", `[{"a":1},{"a":2,"b":3}]`, `[{"a":#},{"a":#,"b":3}]`},
		{"a", `"text"`, `#`},
		{"a", `-1.5e3`, `#`},
		{"a", `[]`, `[]`},
		{"a", `{}`, `{}`},
		{"a b", `{"a":{"b":{"c":1}},"b":"\"}"}`, `{"a":#,"b":#}`},
		{"a.b a.c", `{"a":{"b":1,"c":2,"d":3}}`, `{"a":{"b":#,"c":#,"d":3}}`},
		{"a.b a", `{"a":{"b":1}}`, `{"a":#}`},
		{"\u212a", `{"k":1}`, `{"k":#}`}, // the sign of Kelvin, which package json reads as k
		{"x:y", `{"x:y":1,"y":2}`, `{"x:y":#,"y":2}`},
		{"a", `{"a":1,}`, `#`},  // no JSON
		{"a", `{"a":1} x`, `#`}, // no JSON
		{"a", ``, `#`},
		{"b", `{"a":"\\","b":"\\\"","c":"\\\\"}`, `{"a":"\\","b":#,"c":"\\\\"}`},
		{"b", `{"a":[1,2,{"x":[]}],"b":[{"y":"]"}],"c":[[],[{}]]}`, `{"a":[1,2,{"x":[]}],"b":#,"c":[[],[{}]]}`},
		{"b", `{"a":true,"b":false,"c":-0.1E+2}`, `{"a":true,"b":#,"c":-0.1E+2}`},
	} {
		have := string(redact(json.RawMessage(test.in), pathsOf(t, strings.Fields(test.paths)...)[inPayload]))
		if want := strings.ReplaceAll(test.out, "#", `"[redacted]"`); have != want {
			t.Errorf("%s in %s gives\n%s, not\n%s", test.paths, test.in, have, want)
		}
	}
}

// columns holds the JSON columns of a job.
type columns struct{ Payload, Metadata, Progress, Result json.RawMessage }

func (c *columns) pointers() Columns {
	return Columns{Payload: &c.Payload, Metadata: &c.Metadata, Progress: &c.Progress, Result: &c.Result}
}

func TestRedactEveryColumn(t *testing.T) {
	job := func() *columns {
		text := json.RawMessage(`{"a":1}`)
		return &columns{Payload: text, Metadata: text, Progress: text, Result: text}
	}
	gone, half, kept := `"[redacted]"`, `{"a":"[redacted]"}`, `{"a":1}`
	for path, want := range map[string][4]string{
		"a": {half, kept, kept, kept}, "metadata:a": {kept, half, kept, kept}, "progress:*": {kept, kept, gone, kept},
		"result:a": {kept, kept, kept, half}, "b": {kept, kept, kept, kept},
	} {
		j := job()
		pathsOf(t, path).Redact(j.pointers())
		if have := [4]string{string(j.Payload), string(j.Metadata), string(j.Progress), string(j.Result)}; have != want {
			t.Errorf("%s gives %q, not %q", path, have, want)
		}
	}
	for _, unreadable := range []string{"a..b", "", ".", "result:", "a\x00b", "\xff"} {
		h := Fields{}
		h.Hide(unreadable)
		j := job()
		j.Metadata = nil
		h.Redact(j.pointers())
		if string(j.Payload) != gone || j.Metadata != nil || string(j.Progress) != gone || string(j.Result) != gone {
			t.Errorf("%q leaves something to be seen: %+v", unreadable, j)
		}
	}
}

func TestSensitiveFaults(t *testing.T) {
	for _, path := range []string{"", ".", "a.", ".a", "a..b", "result:", "metadata:.", "a\n", "\xff", strings.Repeat("a", jobtype.MaxKeyLength+1)} {
		if err := Check([]string{"ok", path}); err == nil {
			t.Errorf("%q is taken", path)
		}
	}
	if err := Check(make([]string, jobtype.MaxSensitive+1)); err == nil {
		t.Error("there is no limit")
	}
	if err := Check([]string{"*", "a", "a.*", "*.*", "result:*", "metadata:a.b", "\u00e9", "a:b", strings.Repeat("a", jobtype.MaxKeyLength)}); err != nil {
		t.Error(err)
	}
}

// FuzzRedact checks that the result is JSON of the same shape, whatever the input is, and that the hidden values are gone.
func FuzzRedact(f *testing.F) {
	for _, seed := range []string{`{"a":[{"b":"hidden"}]}`, `[1,"hidden",{"a":{"b":"hidden"}}]`, `"hidden"`, ` {"A": {"\u0062": ["hidden"]} } `, `{"a":1,"a":"hidden"}`, `1`, `{`} {
		f.Add([]byte(seed), "a.b")
		f.Add([]byte(seed), "*")
		f.Add([]byte(seed), "a.*.b")
	}
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		_, names, err := parsePath("result:" + path)
		if err != nil {
			return
		}
		out := redact(text, [][]string{names})
		if !json.Valid(out) {
			t.Fatalf("%s in %q gives %q", path, text, out)
		}
		if again := redact(out, [][]string{names}); string(again) != string(out) {
			t.Fatalf("%s in %q gives %q, and then %q", path, text, out, again)
		}
		if none := redact(text, nil); json.Valid(text) && string(none) != string(text) {
			t.Fatalf("%q without a path becomes %q", text, none)
		}
		// A handler reads JSON in this way: no name on the path may lead to anything else.
		var v any
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatal(err)
		}
		if left := reach(v, names); left != nil {
			t.Fatalf("%s in %q leaves %v: %q", path, text, left, out)
		}
	})
}

// reach returns a value that a path leads to and that is not redacted, or nil.
func reach(v any, names []string) any {
	if len(names) == 0 {
		if v == jobtype.Redacted {
			return nil
		}
		return []any{v}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if names[0] == "*" || strings.EqualFold(names[0], name) {
				if left := reach(member, names[1:]); left != nil {
					return left
				}
			}
		}
	case []any:
		for _, element := range v {
			inside := names
			if names[0] == "*" {
				inside = names[1:]
			}
			if left := reach(element, inside); left != nil {
				return left
			}
		}
	case nil:
	default:
		if v != jobtype.Redacted {
			return v
		}
	}
	return nil
}
