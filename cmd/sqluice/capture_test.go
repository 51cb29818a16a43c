package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTailKeepsTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		limit  int
		writes []string
		want   string
	}{
		"all":               {100, []string{"one\n", "two\n"}, "one\ntwo"},
		"whole lines":       {12, []string{"first line\n", "second\n", "third\n"}, "third"},
		"one long line":     {5, []string{"abcdefghij"}, "fghij"},
		"in small pieces":   {3, []string{"a", "b", "c", "d", "e"}, "cde"},
		"bytes and no text": {20, []string{"a\xff\x00b"}, "a\uFFFD\uFFFDb"},
		"nothing":           {20, nil, ""},
	} {
		tail := &tail{limit: test.limit}
		for _, w := range test.writes {
			if n, err := tail.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%s: Write = %d, %v", name, n, err)
			}
		}
		if got := tail.text(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestTailStaysWithinItsLimit(t *testing.T) {
	tail := &tail{limit: 1000}
	if _, err := tail.Write([]byte(strings.Repeat("\xff", 5000))); err != nil {
		t.Fatal(err)
	}
	if text := tail.text(); len(text) > 1000 || !utf8.ValidString(text) || text == "" {
		t.Errorf("%d bytes, valid %v", len(text), utf8.ValidString(text))
	}
}

func TestHeadCountsWhatItDrops(t *testing.T) {
	head := &head{limit: 4}
	for _, w := range []string{"ab", "cde", "f"} {
		if n, err := head.Write([]byte(w)); n != len(w) || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
	}
	if string(head.kept) != "abcd" || head.dropped() != 2 {
		t.Errorf("kept %q, dropped %d", head.kept, head.dropped())
	}
}

func TestWholeRunes(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "abc": "abc", "abé": "abé", "ab\xc3": "ab", "ab\xe4\xb8": "ab", "ab\xf0\x9f\x99": "ab", "ab🙂": "ab🙂", "\xff": "\xff",
	} {
		if got := string(wholeRunes([]byte(text))); got != want {
			t.Errorf("wholeRunes(%q) = %q, want %q", text, got, want)
		}
	}
}
