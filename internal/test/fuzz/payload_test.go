package fuzz

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
)

// Both engines accept the same payloads, alone, in batches and as metadata, and return the same bytes.
func FuzzPayload(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `""`, `-0`, ` {"a" : [1.0, 1e400, -1E-400] } `, `{"a":1,"a":2}`, `"\u0000"`, `"\ud800"`, `"\ud83d\ude00"`, `"\udc00\ud800"`,
		`"\\u0000"`, "\"\u2028\u202e\ufeff\ufffe\"", "\"\x7f\u0080\"", "\"\x00\"", "\xff", `"it''s $1 ? @x :y \"`, `01`, `[1,]`, ``, `{} {}`, `NaN`,
		`{"":{"":[[[]]]}}`, `123456789012345678901234567890.5e-5`, `"` + "\t" + `"`, `"\/"`,
	} {
		f.Add([]byte(seed))
	}
	both := engines(f)
	f.Fuzz(func(t *testing.T, payload []byte) {
		wanted := jobs.ValidatePayload(payload) == nil
		for _, e := range both {
			one, err := e.client.Enqueue(t.Context(), "k", payload)
			if refused(t, e, "enqueue", err) == wanted {
				t.Fatalf("%s: %q: the validator says %t, the enqueue %v", e.name, payload, wanted, err)
			}
			many, err := receipts.IDs(e.client.EnqueueMany(t.Context(), "k", []json.RawMessage{payload, []byte("1"), payload}))
			if refused(t, e, "enqueue many", err) == wanted {
				t.Fatalf("%s: %q: the validator says %t, the enqueue of many %v", e.name, payload, wanted, err)
			}
			if !wanted {
				continue
			}
			tagged, err := e.client.Enqueue(t.Context(), "k", []byte("{}"), jobs.Metadata(json.RawMessage(payload)))
			if err != nil {
				t.Fatalf("%s: %q as metadata: %v", e.name, payload, err)
			}
			for _, id := range []int64{one.ID, many[0], many[2]} {
				if job, err := e.client.Get(t.Context(), id); err != nil || !bytes.Equal(job.Payload, payload) {
					t.Errorf("%s: %q came back as %q: %v", e.name, payload, job.Payload, err)
				}
			}
			// Package json writes metadata: it keeps the value, without the blanks.
			var compact bytes.Buffer
			if err := json.Compact(&compact, payload); err != nil {
				t.Fatalf("%q is taken, and no JSON: %v", payload, err)
			}
			job, err := e.client.Get(t.Context(), tagged.ID)
			if err != nil || !sameJSON(t, job.Metadata, compact.Bytes()) {
				t.Errorf("%s: the metadata %q came back as %q: %v", e.name, payload, job.Metadata, err)
			}
			remove(t, e, append(many, one.ID, tagged.ID)...)
		}
	})
}

// sameJSON compares values, since package json escapes some characters; null and no metadata are the same.
func sameJSON(t *testing.T, got json.RawMessage, want []byte) bool {
	t.Helper()
	if got == nil {
		return string(want) == "null"
	}
	text := func(data []byte) string {
		var b bytes.Buffer
		json.HTMLEscape(&b, data)
		return b.String()
	}
	return text(got) == text(want)
}
