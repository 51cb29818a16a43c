package cron

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The bounds of an @every specification.
const (
	MinEvery = time.Second
	MaxEvery = 10 * 366 * 24 * time.Hour
)

// maxLength is the longest specification in characters.
const maxLength = 200

// macros returns the specifications behind the names that begin with @.
func macros() map[string]string {
	return map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
	}
}

// field describes one field of a specification.
type field struct {
	name     string
	low      int
	high     int
	names    string // the names of low and of the values after it, three letters each
	ofMonth  bool   // L is allowed
	ofWeek   bool   // 5L and 5#2 are allowed, and 7 is 0
	wildcard bool   // set by parse: an element covers the whole span
	star     bool   // set by parse: the field begins with a star
}

// Parse reads a specification. Its error names the field, the value and the bounds.
func Parse(text string) (Spec, error) {
	s, err := parse(text)
	if err != nil {
		return Spec{}, fmt.Errorf("specification %q: %w", text, err)
	}
	s.text = text
	return s, nil
}

func parse(text string) (Spec, error) {
	if utf8.RuneCountInString(text) > maxLength {
		return Spec{}, fmt.Errorf("must have at most %d characters", maxLength)
	}
	if at := strings.IndexFunc(text, notPlain); at >= 0 {
		r, _ := utf8.DecodeRuneInString(text[at:])
		return Spec{}, fmt.Errorf("must have plain spaces between its fields, not %q", r)
	}
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		return Spec{}, fmt.Errorf("must not have a time zone: give it to the schedule")
	}
	if every, ok := strings.CutPrefix(text, "@every "); ok {
		return parseEvery(every)
	}
	if full, ok := macros()[text]; ok {
		text = full
	} else if strings.HasPrefix(text, "@") {
		return Spec{}, fmt.Errorf("must be @yearly, @monthly, @weekly, @daily, @hourly or @every and a duration")
	}
	values := strings.Fields(text)
	if len(values) == 5 {
		values = append([]string{"0"}, values...)
	}
	if len(values) != 6 {
		return Spec{}, fmt.Errorf("must have five fields (minute, hour, day of month, month, day of week), or six with seconds first, not %d", len(values))
	}
	return parseFields(values)
}

// notPlain reports whether a character is a control character or a space other than the plain one. A control character
// could change the display of a terminal, and readers cannot tell the other spaces from the plain one.
func notPlain(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) && r != ' ' }

func parseEvery(text string) (Spec, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case err != nil:
		return Spec{}, fmt.Errorf("duration %q: must be one such as 90s or 1h30m", text)
	case d < MinEvery || d > MaxEvery || d%time.Second != 0:
		return Spec{}, fmt.Errorf("duration %s: must be whole seconds from %s to %s", d, MinEvery, MaxEvery)
	}
	return Spec{every: d}, nil
}

func parseFields(values []string) (s Spec, err error) {
	second := field{name: "second", high: 59}
	minute := field{name: "minute", high: 59}
	hour := field{name: "hour", high: 23}
	ofMonth := field{name: "day of month", low: 1, high: 31, ofMonth: true}
	month := field{name: "month", low: 1, high: 12, names: "janfebmaraprmayjunjulaugsepoctnovdec"}
	ofWeek := field{name: "day of week", high: 7, names: "sunmontuewedthufrisat", ofWeek: true}
	for i, f := range []struct {
		field *field
		set   *uint64
	}{{&second, &s.second}, {&minute, &s.minute}, {&hour, &s.hour}, {&ofMonth, &s.day.ofMonth}, {&month, &s.month}, {&ofWeek, &s.day.ofWeek}} {
		if *f.set, err = f.field.parse(values[i], &s.day); err != nil {
			return s, err
		}
	}
	s.day.star, s.day.starOfWeek = ofMonth.star, ofWeek.star
	s.fixed = !minute.wildcard && !hour.wildcard
	if !s.possible() {
		return s, fmt.Errorf("day of month %q: no month of the field %q is so long", values[3], values[4])
	}
	return s, nil
}

// parse reads the list of one field. It adds to days each element that is no set of values.
func (f *field) parse(text string, to *days) (set uint64, err error) {
	f.star = strings.HasPrefix(text, "*")
	for element := range strings.SplitSeq(text, ",") {
		if element == "" {
			return 0, fmt.Errorf("%s %q: an element of the list is empty", f.name, text)
		}
		if f.special(element, to) {
			continue
		}
		some, err := f.element(element)
		if err != nil {
			return 0, err
		}
		set |= some
	}
	if f.ofWeek && set>>7&1 != 0 {
		set = set&^(1<<7) | 1 // Sunday
	}
	return set, nil
}

// special reads an element that depends on the month, and returns false for any other element.
func (f *field) special(text string, to *days) bool {
	if f.ofMonth && strings.EqualFold(text, "L") {
		to.last = true
		return true
	}
	if !f.ofWeek {
		return false
	}
	if day, ok := cutLast(text); ok {
		if n, err := f.bound(day); err == nil {
			to.lastOfWeek |= 1 << (n % 7)
			return true
		}
	}
	day, nth, ok := strings.Cut(text, "#")
	n, err := f.bound(day)
	if !ok || err != nil || len(nth) != 1 || nth[0] < '1' || nth[0] > '5' {
		return false
	}
	to.nth[n%7] |= 1 << (nth[0] - '1')
	return true
}

func cutLast(text string) (string, bool) {
	day, ok := strings.CutSuffix(text, "L")
	if !ok {
		day, ok = strings.CutSuffix(text, "l")
	}
	return day, ok
}

// element reads a star, a value or a range. A star and a range may have a step.
func (f *field) element(text string) (set uint64, err error) {
	span, step, stepped := strings.Cut(text, "/")
	by := 1
	if stepped {
		if by, err = f.number(step, 1, f.high-f.low); err != nil {
			return 0, fmt.Errorf("%s %q: step %w", f.name, text, err)
		}
	}
	from, to, ranged := strings.Cut(span, "-")
	switch {
	case span == "*":
		low, high := f.low, f.high
		if f.ofWeek {
			high = 6
		}
		f.wildcard = true
		return values(low, high, by), nil
	case ranged:
		low, high, err := f.rangeBounds(from, to)
		if err != nil {
			return 0, fmt.Errorf("%s %q: %w", f.name, text, err)
		}
		f.wildcard = f.wildcard || low == f.low && high >= f.high
		return values(low, high, by), nil
	case stepped:
		return 0, fmt.Errorf("%s %q: a step needs a range or a star, such as %s-%d/%d", f.name, text, span, f.high, by)
	}
	n, err := f.bound(span)
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", f.name, text, err)
	}
	return 1 << n, nil
}

// rangeBounds parses the first and the last value of a range.
func (f *field) rangeBounds(from, to string) (low, high int, err error) {
	low, err1 := f.bound(from)
	high, err2 := f.bound(to)
	if err := cmp.Or(err1, err2); err != nil {
		return 0, 0, err
	}
	if f.ofWeek && high == 0 && low > 0 {
		high = 7 // fri-sun
	}
	if low > high {
		return 0, 0, errors.New("the range must not end before it begins")
	}
	return low, high, nil
}

// bound reads a value of the field, by number or by name.
func (f *field) bound(text string) (int, error) {
	if len(text) == 3 {
		if at := strings.Index(f.names, strings.ToLower(text)); at >= 0 && at%3 == 0 {
			return f.low + at/3, nil
		}
	}
	return f.number(text, f.low, f.high)
}

func (f *field) number(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high || strings.Trim(text, "0123456789") != "" || len(text) > 2 {
		return 0, fmt.Errorf("must be from %d to %d, not %q", low, high, text)
	}
	return n, nil
}

// values returns the set of the values of a range.
func values(low, high, step int) (set uint64) {
	for n := low; n <= high; n += step {
		set |= 1 << n
	}
	return set
}

// possible reports whether any day matches: 30 February never does.
func (s *Spec) possible() bool {
	if s.day.star || !s.day.starOfWeek || s.day.last {
		return true
	}
	for month, length := range []int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31} {
		if s.month>>(month+1)&1 != 0 && next(s.day.ofMonth, 1) <= length {
			return true
		}
	}
	return false
}
