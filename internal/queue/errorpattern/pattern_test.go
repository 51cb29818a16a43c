package errorpattern_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sqluice/sqluice/internal/queue/errorpattern"
)

func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"card_declined: insufficient funds": "card_declined: insufficient funds",
		"row 7 is bad":                      "row # is bad",
		"row 12 is bad":                     "row # is bad",
		"balance -5, then +5.25":            "balance #, then #",
		"1,234.5 of 2/3":                    "# of #",
		"dial tcp 10.0.0.7:5432: connection refused":                 "dial tcp #: connection refused",
		"at 2026-11-29T10:00:00.123Z":                                "at #",
		"at 2026-11-29T10:00:00+01:00: late":                         "at #: late",
		"after 1m30.5s":                                              "after #",
		"after 500ms":                                                "after #",
		"500 kB of 10kB":                                             "# kB of #kB",
		"value 0x1F at 0xdeadbeef":                                   "value # at #",
		"commit 0008598f is not 9d5ea3c8":                            "commit # is not #",
		"request 7f3c2a9e-aaaa-bbbb-cccc-abcdefabcdef":               "request #",
		"the user 7f3c2a9e-aaaa-bbbb-cccc-abcdefabcdef’s row":        "the user #’s row",
		"id 01ARZ3NDEKTSV4RRFFQ69G5FAV":                              "id #",
		"customer cus_9s6XKzkNRld150":                                "customer cus_#",
		"worker-12 of shard7":                                        "worker-# of shard#",
		"x509: certificate":                                          "x#: certificate",
		"a decade in the facade":                                     "a decade in the facade",
		`open "a.csv": no such file`:                                 `open "…": no such file`,
		`open "say \"hi\"": no`:                                      `open "…": no`,
		"open 'b c': no":                                             "open '…': no",
		"it's not the user's fault":                                  "it's not the user's fault",
		"the name 'O'Hara' is taken":                                 "the name '…' is taken",
		"field `x` of “y” and «z»":                                   "field `…` of “…” and «…»",
		`an empty "" and an open " mark`:                             `an empty "" and an open " mark`,
		"\"over\nlines\"":                                            "\"over\nlines\"",
		"line 1\nline 22":                                            "line #\nline #",
		"panic: runtime error: index out of range [3] with length 3": "panic: runtime error: index out of range [#] with length #",
		"kind # of 5":                                                "kind # of #",
		"Zeile ٣ fehlt":                                              "Zeile # fehlt",
		"bad \xff byte 7":                                            "bad \uFFFD byte #",
		`"` + strings.Repeat("long ", 50) + `"`:                      `"` + strings.Repeat("long ", 50) + `"`,
		strings.Repeat("é", errorpattern.MaxLength+1):                strings.Repeat("é", errorpattern.MaxLength),
		"row 7 " + strings.Repeat("x ", 600):                         "row # " + strings.Repeat("x ", 497),
		"row 12345 " + strings.Repeat("x ", 600):                     "row # " + strings.Repeat("x ", 497),
	} {
		if got := errorpattern.Of(text); got != want {
			t.Errorf("%.80q has the pattern %.80q, want %.80q", text, got, want)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, text := range []string{"row 7 of 'a' -5", "10.0.0.1:80", `"\"`, "“”", "7f3c2a9e-aaaa-bbbb-cccc-abcdefabcdef", "\xff#1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pattern := errorpattern.Of(text)
		if !utf8.ValidString(pattern) || utf8.RuneCountInString(pattern) > errorpattern.MaxLength {
			t.Errorf("%q has the pattern %q", text, pattern)
		}
		if strings.ContainsAny(pattern, "0123456789") && !strings.ContainsAny(text, "0123456789") {
			t.Errorf("%q has the pattern %q, with a digit", text, pattern)
		}
		if strings.ContainsAny(pattern, "0123456789") {
			t.Errorf("the pattern %q of %q has a digit", pattern, text)
		}
	})
}
