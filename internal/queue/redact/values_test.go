package redact

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

func TestErrorsWithoutSecrets(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, test := range map[string]struct {
		paths   []string
		payload string
		text    string
		want    string
	}{
		"a string":                 {[]string{"card"}, `{"card": "4111-1111"}`, "card 4111-1111 is over", "card [redacted] is over"},
		"each time":                {[]string{"card"}, `{"card": "4111-1111"}`, "4111-1111, 4111-11114111-1111", "[redacted], [redacted]"},
		"another field":            {[]string{"card"}, `{"card": "4111-1111", "name": "Anna"}`, "Anna has 4111-1111", "Anna has [redacted]"},
		"a short one":              {[]string{"card"}, `{"card": "411"}`, "card 411 is over", "card 411 is over"},
		"the least":                {[]string{"card"}, `{"card": "4111"}`, "card 4111 is over", "card [redacted] is over"},
		"nothing of it":            {[]string{"card"}, `{"card": "4111-1111"}`, "no such card", "no such card"},
		"no such field":            {[]string{"card"}, `{"cart": "4111-1111"}`, "no 4111-1111", "no 4111-1111"},
		"a number":                 {[]string{"card"}, `{"card": 41111111}`, "card 41111111, 4.1111111e+07", "card [redacted], [redacted]"},
		"a large number":           {[]string{"card"}, `{"card": 4.1111111e7}`, "card 41111111", "card [redacted]"},
		"what it is in":            {[]string{"card"}, `{"card": {"number": ["4111-1111", {"a": 5555}], "Name": "Anna"}}`, `Anna: [4111-1111 5555], Name`, `[redacted]: [[redacted] [redacted]], Name`},
		"a name twice":             {[]string{"*"}, `{"a": "first", "a": "second", "b": {"a": "third"}}`, "first second third", "[redacted] [redacted] [redacted]"},
		"all":                      {[]string{"*"}, `"4111-1111"`, "4111-1111", "[redacted]"},
		"a mark that nobody reads": {[]string{"a..b"}, `{"card": "4111-1111"}`, "4111-1111", "[redacted]"},
		"quoted":                   {[]string{"card"}, "{\"card\": \"41\\\"11\\n\u00fc\"}", fmt.Sprintf("%q %+q", "41\"11\n\u00fc", "41\"11\n\u00fc"), `"[redacted]" "[redacted]"`},
		"as the payload has it":    {[]string{"card"}, `{"card": "41\/11\u0041"}`, `in {"card": "41\/11\u0041"}`, `in {"card": "[redacted]"}`},
		"in JSON":                  {[]string{"card"}, `{"card": "<4111>"}`, `{"card":"\u003c4111\u003e"}`, `{"card":"[redacted]"}`},
		"in a URL":                 {[]string{"card"}, `{"card": "41 11/&"}`, (&url.Error{Op: "Get", URL: "http://pay?card=" + url.QueryEscape("41 11/&"), Err: errors.New("down")}).Error(), `Get "http://pay?card=[redacted]": down`},
		"in a path":                {[]string{"card"}, `{"card": "41 11/?"}`, "GET /cards/" + url.PathEscape("41 11/?"), "GET /cards/[redacted]"},
		"as Python's quote":        {[]string{"card"}, `{"card": "41 11/(&"}`, "GET /cards/41%2011/%28%26", "GET /cards/[redacted]"},
		"as PHP's rawurlencode":    {[]string{"card"}, `{"card": "41 11/(&"}`, "GET /cards/41%2011%2F%28%26", "GET /cards/[redacted]"},
		"as encodeURIComponent":    {[]string{"card"}, `{"card": "41 11/(&"}`, "GET /cards/41%2011%2F(%26", "GET /cards/[redacted]"},
		"as encodeURI":             {[]string{"card"}, `{"card": "41 11/(&"}`, "GET /cards/41%2011/(&", "GET /cards/[redacted]"},
		"in a whole path":          {[]string{"card"}, `{"card": "41 11/&"}`, "GET " + (&url.URL{Path: "/cards/41 11/&"}).String(), "GET /cards/[redacted]"},
		"one within another":       {[]string{"a", "b"}, `{"a": "abcdef", "b": "cdefgh"}`, "xabcdefghx", "x[redacted]x"},
		"one that overlaps itself": {[]string{"a"}, `{"a": "aaaa"}`, "baaaaaab", "b[redacted]b"},
		"a long one":               {[]string{"a"}, `{"a": "` + long + `"}`, "a" + long + "b", "a[redacted]b"},
	} {
		h := Fields{}
		for _, path := range test.paths {
			h.Hide(path)
		}
		secrets := h.Values((&columns{Payload: json.RawMessage(test.payload)}).pointers())
		if got := Withhold(test.text, secrets); got != test.want {
			t.Errorf("%s: %q becomes %q, want %q", name, test.text, got, test.want)
		}
	}
	h := Fields{}
	h.Hide("metadata:key")
	h.Hide("result:*")
	secrets := h.Values((&columns{
		Payload: json.RawMessage(`"payload-1"`), Metadata: json.RawMessage(`{"key": "meta-1"}`), Result: json.RawMessage(`{"code": "result-1"}`),
	}).pointers())
	if got := Withhold("payload-1 meta-1 result-1", secrets); got != "payload-1 [redacted] [redacted]" {
		t.Errorf("of other columns it becomes %q", got)
	}
}

// TestLongErrorsWithoutSecrets checks that a text is withheld as a whole where the search would take long or the text was cut.
func TestLongErrorsWithoutSecrets(t *testing.T) {
	var many []string
	for i := range 2000 {
		many = append(many, fmt.Sprint("secret", i))
	}
	text := strings.Repeat("x", mostSearch/len(many)+1)
	if got := Withhold(text, many); got != jobtype.Redacted {
		t.Errorf("a text of %d bytes is searched for %d values", len(text), len(many))
	}
	if got := Withhold(text, many[:1]); got != text {
		t.Errorf("a text of %d bytes is not searched for one value", len(text))
	}
	for _, end := range []string{"x", "\u00fc", "\U0001F512"} {
		cutText := core.Clean(strings.Repeat(end, MostText/len(end)+1), MostText)
		if got := Withhold(cutText, many[:1]); got != jobtype.Redacted {
			t.Errorf("a text that was cut among %q, %d bytes of it, is told", end, len(cutText))
		}
		if got := Withhold(cutText, nil); got != cutText {
			t.Error("one of a job that holds nothing sensitive is not told")
		}
	}
}
