package admin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sqluice/sqluice/admin/chart"
	"github.com/sqluice/sqluice/jobs"
)

// functions returns the functions of the templates. names maps the files of the pages to the names in their URLs.
func (h *Handler) functions(names map[string]string) template.FuncMap {
	return template.FuncMap{
		"link": func(way string) string { return h.config.Prefix + way },
		"file": func(name string) (string, error) {
			hashed, ok := names[name]
			if !ok {
				return "", fmt.Errorf("there is no file %s", name)
			}
			return h.config.Prefix + "/static/" + hashed, nil
		},
		"jobLink":      func(id int64) string { return fmt.Sprintf("%s/jobs/%d", h.config.Prefix, id) },
		"jobsLink":     func(pairs ...string) string { return h.config.Prefix + "/jobs?" + query(pairs...) },
		"scheduleLink": func(name string) string { return h.config.Prefix + "/schedules/" + nameSegment(name) },
		"ago":          func(t time.Time) string { return relative(t, h.inspector.Now()) },
		"now":          h.inspector.Now,
		"stamp":        func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") },
		"clock":        func(t time.Time) string { return t.UTC().Format("15:04") },
		"second":       func(t time.Time) string { return t.UTC().Format("15:04:05") },
		"day":          func(t time.Time) string { return t.UTC().Format("2 Jan 2006") },
		"failedLink":   func(pairs ...string) string { return h.config.Prefix + "/failed?" + query(pairs...) },
		"limitsLink":   func(pairs ...string) string { return h.config.Prefix + "/limits?" + query(pairs...) },
		"clip":         clip,
		"iso":          func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
		"span":         span,
		"top":          top,
		"number":       number,
		"pretty":       pretty,
		"json":         encode,
		"key":          key,
		"brief":        brief,
		"oneLine":      func(s string) string { return clip(strings.Join(strings.Fields(s), " "), 160) },
		"statuses":     jobs.Statuses,
		"title":        title,
		"plural":       plural,
		"onHost":       onHost,
		"percent":      percent,
		"counted":      func(attempts, uncounted int) int { return attempts - uncounted }, // the attempts that count towards the maximum
	}
}

// query returns a URL's query of pairs of a name and a value, without pairs whose value is empty.
func query(pairs ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values.Encode()
}

// relative returns a time as its distance from now, such as "5 s ago" or "in 2 min".
func relative(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return "never"
	case d <= -time.Second:
		return "in " + age(-d)
	case d < time.Second:
		return "just now"
	default:
		return age(d) + " ago"
	}
}

// age returns a duration in whole seconds or larger units.
func age(d time.Duration) string {
	if d < time.Minute {
		d = d.Truncate(time.Second)
	}
	return span(d)
}

// span returns a duration in its largest unit, such as "3.2 s" or "14 min".
func span(d time.Duration) string {
	units := []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}
	for _, unit := range units {
		if d < unit.size && unit.size > time.Millisecond {
			continue
		}
		n := float64(max(d, 0)) / float64(unit.size)
		if n < 10 && unit.size <= time.Second {
			return strconv.FormatFloat(math.Floor(n*10)/10, 'f', -1, 64) + " " + unit.name
		}
		return fmt.Sprintf("%d %s", int64(n), unit.name)
	}
	return "" // not reached: milliseconds take every duration
}

// inUnits returns a duration in its two largest units, such as "2 min 5 s", and below 10 s as span does.
func inUnits(d time.Duration) string {
	if d < 10*time.Second {
		return span(d)
	}
	d = d.Round(time.Second)
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute} {
		if d < unit {
			continue
		}
		small := []time.Duration{time.Hour, time.Minute, time.Second}[i]
		if rest := d % unit; rest >= small {
			return span(d-rest) + " " + span(rest)
		}
		return span(d)
	}
	return span(d)
}

// number returns a whole number with commas between thousands.
func number(n any) string {
	text := strconv.FormatInt(reflect.ValueOf(n).Int(), 10)
	for from := len(text) - 3; from > 0 && text[from-1] != '-'; from -= 3 {
		text = text[:from] + "," + text[from:]
	}
	return text
}

func plural(n any, one, many string) string {
	if text := number(n); text == "1" {
		return text + " " + one
	}
	return number(n) + " " + many
}

// percent returns the share of part in whole, from 0 to 100. Both are integers.
func percent(part, whole any) int64 {
	p, w := reflect.ValueOf(part).Int(), reflect.ValueOf(whole).Int()
	if w <= 0 {
		return 0
	}
	return min(100, max(0, p*100/w))
}

// The bounds of JSON on a page, in bytes. Indented, a short text can become hundreds of times as long.
const (
	maxIndented   = 256 << 10
	maxUnindented = 64 << 10
)

// pretty returns JSON with indentation. It does not indent invalid JSON and JSON that would become too long, and shortens these to
// maxUnindented. The caller redacts sensitive fields.
func pretty(raw json.RawMessage) string {
	var text bytes.Buffer
	if indented(raw) <= maxIndented && json.Indent(&text, raw, "", "  ") == nil {
		return text.String()
	}
	if len(raw) <= maxUnindented {
		return string(raw)
	}
	return strings.ToValidUTF8(string(raw[:maxUnindented]), "") + "…\n(cut here; the API has all of it)"
}

// indented returns an upper bound of the length of JSON after indenting.
func indented(raw json.RawMessage) int {
	size, depth, inString := len(raw), 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{', c == '[':
			depth++
			size += 1 + 2*depth
		case c == '}', c == ']':
			depth--
			size += 1 + 2*max(depth, 0)
		case c == ',':
			size += 1 + 2*depth
		case c == ':':
			size++
		}
	}
	return size
}

// encode returns a value as JSON. A form sends JSON unchanged; it changes the line breaks of plain text.
func encode(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

// decodeText returns the text of a form's field that encode has made.
func decodeText(field string) (text string, err error) {
	err = json.Unmarshal([]byte(field), &text)
	return text, err
}

// key returns a short hash of texts, for ids of HTML elements.
func key(texts ...string) string {
	hash := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(hash, "%d %s", len(text), text) // a hash returns no error
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// brief returns the beginning of JSON.
func brief(raw json.RawMessage) string { return clip(string(raw), 100) }

// withoutBidi replaces the characters of a text that control its direction. In a message they would reorder the words next to a name.
func withoutBidi(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// clip shortens a text to most characters.
func clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// top returns the greatest value of a chart.
func top(c chart.Chart) string {
	if c.Unit == "ms" {
		return span(time.Duration(c.Most() * float64(time.Millisecond)))
	}
	return number(int64(c.Most()))
}

// title returns a status with a capital letter. A row that was written without the CHECKs may have an empty one.
func title(s jobs.Status) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(string(s[:1])) + string(s[1:])
}
