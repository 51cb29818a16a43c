package redact

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// MostText is the largest number of bytes of a text that are searched. A text of that length counts as cut: a part of a
// value that was cut in two would remain.
const MostText = 8 << 20

// CutEnds says at which ends of a text a cut may have left a part of a marked value.
type CutEnds struct{ Start, End bool }

// textSpan is a part of a text, in bytes.
type textSpan struct{ from, to int }

// Withhold returns text with [jobtype.Redacted] in place of the marked values in it.
func Withhold(text string, values []string) string { return WithholdCut(text, values, CutEnds{}) }

// WithholdCut returns text with [jobtype.Redacted] in place of the marked values in it and of the parts of values that a cut left: at
// the ends of the text that may be cut, and before an ellipsis. Where text itself was shortened for the search, or the search would
// take too long, it returns [jobtype.Redacted] alone.
func WithholdCut(text string, values []string, ends CutEnds) string {
	if len(values) == 0 || text == "" {
		return text
	}
	wasCut := len(text) > MostText-utf8.UTFMax
	if wasCut || product(len(text), len(values)) > mostSearch {
		return jobtype.Redacted
	}
	ellipses := findEllipses(text)
	var found []textSpan
	searched := int64(0)
	for _, value := range values {
		found = appendWhole(found, text, value)
		if ends.Start {
			if strings.Contains(value, text) {
				return jobtype.Redacted
			}
			if n := overlap(value, text); n > 0 {
				found = append(found, textSpan{0, n})
			}
		}
		cuts := ellipses
		if ends.End {
			cuts = append(cuts[:len(cuts):len(cuts)], len(text))
		}
		if searched += product(len(cuts)+1, len(value)); searched > mostSearch {
			return jobtype.Redacted
		}
		if len(cuts) > 0 {
			found = appendBeginnings(found, text, value, cuts)
		}
	}
	return replaceSpans(text, found)
}

// product returns a times b as int64: two lengths of a few MB overflow an int of 32 bits.
func product(a, b int) int64 { return int64(a) * int64(b) }

// appendWhole adds each place where text has the value. Places may overlap.
func appendWhole(found []textSpan, text, value string) []textSpan {
	first := strings.Index(text, value)
	if first < 0 {
		return found
	}
	borders := bordersOf(value) // a value that repeats itself is found in linear time
	n := 0
	for i := first; i < len(text); i++ {
		for n > 0 && (n == len(value) || text[i] != value[n]) {
			n = borders[n-1]
		}
		if text[i] == value[n] {
			n++
		}
		if n == len(value) {
			found = append(found, textSpan{i + 1 - n, i + 1})
		}
	}
	return found
}

// appendBeginnings adds the beginnings of the value that end where text is cut.
func appendBeginnings(found []textSpan, text, value string, cuts []int) []textSpan {
	borders := bordersOf(value)
	for _, at := range cuts {
		if n := overlapWith(text[:at], value, borders); n >= leastSecret {
			found = append(found, textSpan{at - n, at})
		}
	}
	return found
}

// findEllipses returns the positions of the ellipses in text, with which libraries mark shortened values.
func findEllipses(text string) (list []int) {
	for _, ellipsis := range []string{"...", "\u2026"} {
		for from := 0; ; {
			at := strings.Index(text[from:], ellipsis)
			if at < 0 {
				break
			}
			list = append(list, from+at)
			from += at + len(ellipsis)
			from += len(text[from:]) - len(strings.TrimLeft(text[from:], "."))
		}
	}
	return list
}

// overlap returns the length of the longest end of a that is a beginning of b.
func overlap(a, b string) int { return overlapWith(a, b, bordersOf(b)) }

func overlapWith(a, b string, borders []int) int {
	a = a[max(0, len(a)-len(b)):]
	n := 0
	for i := range len(a) {
		for n > 0 && (n == len(b) || a[i] != b[n]) {
			n = borders[n-1]
		}
		if a[i] == b[n] {
			n++
		}
	}
	return n
}

// bordersOf returns the failure function of Knuth, Morris and Pratt: for each beginning of s, the length of the longest
// shorter beginning with which it ends.
func bordersOf(s string) []int {
	borders := make([]int, len(s))
	n := 0
	for i := 1; i < len(s); i++ {
		for n > 0 && s[i] != s[n] {
			n = borders[n-1]
		}
		if s[i] == s[n] {
			n++
		}
		borders[i] = n
	}
	return borders
}

// replaceSpans puts [jobtype.Redacted] in place of the spans; overlapping or touching spans become one.
func replaceSpans(text string, spans []textSpan) string {
	if len(spans) == 0 {
		return text
	}
	slices.SortFunc(spans, func(a, b textSpan) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	done := 0
	for i := 0; i < len(spans); {
		s := spans[i]
		for i++; i < len(spans) && spans[i].from <= s.to; i++ {
			s.to = max(s.to, spans[i].to)
		}
		out.WriteString(text[done:s.from])
		out.WriteString(jobtype.Redacted)
		done = s.to
	}
	out.WriteString(text[done:])
	return out.String()
}
