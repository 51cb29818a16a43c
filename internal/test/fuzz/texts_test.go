package fuzz

import (
	"slices"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Both engines accept the same names, keys, ids and tags, return them, and find jobs by them.
func FuzzTexts(f *testing.F) {
	for _, seed := range [][3]string{
		{"k", "a", "b"}, {"K", "a", "A"}, {"k ", "a", "a "}, {"é", "e\u0301", "é"}, {"k", "\x00", ""}, {"k\n", "\x7f", "\u0080"}, {"\xff", "a\xff", "a"},
		{"日本", "\u202e", "\u200b"}, {"k", "%", "_"}, {"k", `"`, `\`}, {"k", "'; DROP TABLE jobs; --", "$1"}, {"k", "ß", "ss"}, {"k", "I", "ı"},
		{"default", "\ufeff", "\U0010ffff"}, {"k", "ｋ", "k"}, {"[1]", `{"a":1}`, "null"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	both := engines(f)
	f.Fuzz(func(t *testing.T, name, one, two string) {
		if name == "" || one == "" || two == "" {
			t.Skip("an empty option means none")
		}
		var outcomes []string
		for _, e := range both {
			outcomes = append(outcomes, texts(t, e, name, one, two))
		}
		if outcomes[0] != outcomes[1] {
			t.Errorf("%q, %q, %q: SQLite says %s, PostgreSQL %s", name, one, two, outcomes[0], outcomes[1])
		}
	})
}

// texts uses the texts in one queue, and returns which were accepted.
func texts(t *testing.T, e engine, name, one, two string) (outcome string) {
	t.Helper()
	note := func(what string, err error) bool {
		if refused(t, e, what, err) {
			outcome += " no-" + what
			return false
		}
		outcome += " " + what
		return true
	}
	if receipt, err := e.client.Enqueue(t.Context(), name, []byte("{}"), jobs.Queue(one)); note("names", err) {
		job, err := e.client.Get(t.Context(), receipt.ID)
		if err != nil || job.Kind != name || job.Queue != one {
			t.Errorf("%s: the kind %q and queue %q came back as %q, %q: %v", e.name, name, one, job.Kind, job.Queue, err)
		}
		found, err := inspect.New(e.client).List(t.Context(), inspect.Filter{Kind: name, Queue: one})
		if err != nil || len(found) != 1 || found[0].ID != receipt.ID {
			t.Errorf("%s: by the kind %q and queue %q it found %d jobs: %v", e.name, name, one, len(found), err)
		}
		remove(t, e, receipt.ID)
	}
	if receipt, err := e.client.Enqueue(t.Context(), "k", []byte("{}"), jobs.UserID(one), jobs.Tags(two, "z"), jobs.RequestID(name)); note("ids", err) {
		job, err := e.client.Get(t.Context(), receipt.ID)
		if err != nil || job.UserID != one || job.RequestID != name || !slices.Contains(job.Tags, two) {
			t.Errorf("%s: %q, %q and the tag %q came back as %+v: %v", e.name, one, name, two, job, err)
		}
		found, err := inspect.New(e.client).List(t.Context(), inspect.Filter{UserID: one, Tag: two})
		if err != nil || len(found) != 1 || found[0].ID != receipt.ID {
			t.Errorf("%s: by the user %q and tag %q it found %d jobs: %v", e.name, one, two, len(found), err)
		}
		again, err := e.client.Enqueue(t.Context(), "k", []byte("{}"), jobs.RequestID(name))
		if err != nil || !again.Existed || again.ID != receipt.ID {
			t.Errorf("%s: the request id %q a second time: %+v, %v", e.name, name, again, err)
		}
		remove(t, e, receipt.ID)
	}
	return outcome + keys(t, e, one, two, note)
}

// keys compares two unique keys: they name the same job if and only if they are the same bytes.
func keys(t *testing.T, e engine, one, two string, note func(string, error) bool) string {
	t.Helper()
	first, err := e.client.Enqueue(t.Context(), "k", []byte("{}"), jobs.Unique(one))
	if !note("first-key", err) {
		return ""
	}
	defer remove(t, e, first.ID)
	again, err := e.client.Enqueue(t.Context(), "k", []byte("{}"), jobs.Unique(one))
	if err != nil || !again.Existed || again.ID != first.ID {
		t.Errorf("%s: the key %q a second time: %+v, %v", e.name, one, again, err)
	}
	other, err := e.client.Enqueue(t.Context(), "other", []byte("{}"), jobs.Unique(one))
	if err != nil || other.Existed {
		t.Errorf("%s: the key %q of another kind: %+v, %v", e.name, one, other, err)
	} else {
		remove(t, e, other.ID)
	}
	second, err := e.client.Enqueue(t.Context(), "k", []byte("{}"), jobs.Unique(two))
	if !note("second-key", err) {
		return ""
	}
	if second.Existed != (one == two) {
		t.Errorf("%s: the keys %q and %q are taken for the same: %t", e.name, one, two, second.Existed)
	}
	if !second.Existed {
		remove(t, e, second.ID)
	}
	return ""
}
