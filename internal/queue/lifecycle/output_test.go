package lifecycle

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

func TestRecordedOutput(t *testing.T) {
	const secret = "4111-2222-3333-4444"
	long := strings.Repeat("k\u00e4y-", 1000) // longer than the recorded part
	filler := strings.Repeat("z", maxOutput-20)
	for name, test := range map[string]struct {
		output string
		cut    bool
		secret string
		want   string
	}{
		"all":                              {"one\ntwo\n", false, secret, "one\ntwo"},
		"nothing":                          {" \n", false, secret, ""},
		"bytes and no text":                {"a\xff\x00b", false, secret, "a\uFFFD\uFFFDb"},
		"whole lines":                      {"half a line\nthird\n", true, secret, "third"},
		"one long line":                    {"a line without its beginning", true, secret, "a line without its beginning"},
		"more than is recorded":            {"first\n" + filler + "\n" + filler + "\nlast", false, secret, filler + "\nlast"},
		"a whole value":                    {"no card " + secret + "\n", false, secret, "no card [redacted]"},
		"the end of one at the cut":        {"3333-4444 is no card", true, secret, "[redacted] is no card"},
		"a line of one at the cut":         {"3333\n4444\nno card", true, "1111\n2222\n3333\n4444", "no card"},
		"its last byte at the cut":         {"4 is no card", true, secret, "[redacted] is no card"},
		"the same without a cut":           {"3333-4444 is no card", false, secret, "3333-4444 is no card"},
		"the middle of one":                {"22-3333", true, secret, "[redacted]"},
		"the beginning of one at the end":  {"no card 4111-22", false, secret, "no card [redacted]"},
		"less than is looked for":          {"no card 411", false, secret, "no card 411"},
		"one longer than what is recorded": {"before\n" + long + "\nafter", false, long, "before\n[redacted]\nafter"},
		"the end of a long one":            {long[1001:] + " after", true, long, "[redacted] after"},
		"a cut within a character":         {long[2:] + " after", true, long, "[redacted] after"},
		"a value before the recorded part": {secret + filler + "\nlast", false, secret, "[redacted]" + filler + "\nlast"},
	} {
		out := NewOutput(&jobtype.OutputError{Err: errors.New("exit status 1"), Output: test.output, Truncated: test.cut})
		got := ""
		if out != nil {
			got = out.recorded([]string{test.secret})
		}
		want := test.want
		if len(want) > maxOutput {
			want = want[strings.IndexByte(want, '\n')+1:]
		}
		if got != want {
			t.Errorf("%s: %.100q becomes %.100q, want %.100q", name, test.output, got, want)
		}
	}
}

func TestRecordedOutputStaysWithinItsLimit(t *testing.T) {
	for name, text := range map[string]string{
		"bytes": strings.Repeat("\xff", 3*maxOutput), "characters": strings.Repeat("\U0001F512", maxOutput), "much": strings.Repeat("x", 2*maxOutputSearched),
		"values": strings.Repeat("secret ", 2*maxOutput),
	} {
		out := NewOutput(&jobtype.OutputError{Err: errors.New("e"), Output: text})
		if got := out.recorded([]string{"secret"}); len(got) > maxOutput || !utf8.ValidString(got) || got == "" || len(out.text) > 3*maxOutputSearched {
			t.Errorf("%s: %d bytes, valid %v", name, len(got), utf8.ValidString(got))
		}
	}
	if got := joinOutput(strings.Repeat("m", 2*maxMessage), strings.Repeat("o", maxOutput)); len(got) != maxMessage || !strings.HasSuffix(got, "ooo") {
		t.Errorf("with a long error the message has %d bytes and ends with %q", len(got), got[len(got)-10:])
	}
}
