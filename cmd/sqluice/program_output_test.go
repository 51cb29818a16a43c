package main

import "testing"

func TestTailKeepsTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		limit   int
		writes  []string
		want    string
		dropped bool
	}{
		"all":             {100, []string{"one\n", "two\n"}, "one\ntwo\n", false},
		"exactly":         {6, []string{"abc", "def"}, "abcdef", false},
		"one long write":  {5, []string{"abcdefghij"}, "fghij", true},
		"in small pieces": {3, []string{"a", "b", "c", "d", "e"}, "cde", true},
		"nothing":         {20, nil, "", false},
	} {
		tail := &tail{limit: test.limit}
		for _, w := range test.writes {
			if n, err := tail.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%s: Write = %d, %v", name, n, err)
			}
		}
		if string(tail.kept) != test.want || tail.dropped != test.dropped {
			t.Errorf("%s: %q, dropped %v, want %q, %v", name, tail.kept, tail.dropped, test.want, test.dropped)
		}
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
