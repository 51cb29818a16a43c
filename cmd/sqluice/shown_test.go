package main

import "testing"

func TestShownHidesWhatMayBeAPassword(t *testing.T) {
	for text, want := range map[string]string{
		"list":                               "list",
		"2001-01-01T00:00:00Z":               "2001-01-01T00:00:00Z",
		"me@here":                            "me@here",
		"postgres://u:secret@h/n":            "postgres://...",
		"-db=postgres://u:secret@h/n":        "-db=postgres://...",
		"u:secret@h":                         "u:...",
		"host=h PASSWORD=secret":             "host=h PASSWORD...",
		"a:b\nsecret@h":                      "a:...",
		"postgres://u:se cret'\"@h/n x=y://": "postgres://...",
	} {
		if got := shown(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
