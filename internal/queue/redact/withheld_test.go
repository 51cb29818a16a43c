package redact

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// TestShortenedValues checks that the beginning of a value before an ellipsis is withheld: libraries shorten quotations so.
func TestShortenedValues(t *testing.T) {
	const secret = "4111-2222-3333-4444"
	for text, want := range map[string]string{
		`number "4111-2222... must be shorter`: `number "[redacted]... must be shorter`,
		"4111-2222\u2026 is no card":           "[redacted]\u2026 is no card",
		"41114111-2222...":                     "4111[redacted]...",
		"4111-2222 is no card...":              "4111-2222 is no card...",
		"411...":                               "411...",
		"a..4111-2.... 4111-22......":          "a..[redacted].... [redacted]......",
		"4111-2222-3333-4444...":               "[redacted]...",
	} {
		if got := Withhold(text, []string{secret}); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	err := core.CheckText("unique key", secret+strings.Repeat("x", jobtype.MaxKeyLength), jobtype.MaxKeyLength)
	if err == nil {
		t.Fatal("the key is not refused")
	}
	if got := Withhold(err.Error(), []string{secret + strings.Repeat("x", jobtype.MaxKeyLength)}); strings.Contains(got, "4111") {
		t.Errorf("a long key is told: %s", got)
	}
}

// TestValuesThatRepeatThemselves checks that the search ends soon for any text.
func TestValuesThatRepeatThemselves(t *testing.T) {
	text, value := strings.Repeat("a", 7<<20), strings.Repeat("a", 1<<20)
	if got := Withhold(text+"!", []string{value}); got != jobtype.Redacted+"!" {
		t.Errorf("%.40q is left", got)
	}
	ellipses := strings.Repeat("a...", 1<<20)
	if got := Withhold(ellipses, []string{value}); got != jobtype.Redacted {
		t.Errorf("%.40q is left of many ellipses", got)
	}
	// 4 MiB times 1024 is 0 in 32 bits.
	values := slices.Repeat([]string{"value"}, 1<<10)
	if got := Withhold(strings.Repeat("a", 4<<20), values); got != jobtype.Redacted {
		t.Errorf("%.40q is searched for %d values", got, len(values))
	}
}

func TestJSONForms(t *testing.T) {
	text := "<k\u00e9y>/\U0001F512\\u003c&\n\"x\"" // with a backslash that is no escape
	for _, form := range jsonForms(text) {
		var back string
		if err := json.Unmarshal([]byte(`"`+form+`"`), &back); err != nil || back != text {
			t.Errorf("%s is %q, %v", form, back, err)
		}
	}
	secrets := map[string]bool{}
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	addTexts(secrets, raw)
	for language, form := range map[string]string{
		"Go":         `\u003ck` + "\u00e9" + `y\u003e/` + "\U0001F512" + `\\u003c\u0026\n\"x\"`,
		"JavaScript": `<k` + "\u00e9" + `y>/` + "\U0001F512" + `\\u003c&\n\"x\"`,
		"Python":     `<k\u00e9y>/\ud83d\udd12\\u003c&\n\"x\"`,
		"PHP":        `<k\u00e9y>\/\ud83d\udd12\\u003c&\n\"x\"`,
	} {
		if !secrets[form] {
			t.Errorf("what %s writes, %s, is not among %v", language, form, secrets)
		}
	}
}
