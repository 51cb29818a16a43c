package model

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/jobs"
)

// Few of each, so that steps meet; among them values that are hard to quote and encode. The simplest are first: a
// failure is shrunk towards them.
var (
	kinds      = []string{"k", `it's "odd" \`, "\u00e9\u2028\U0001F600"}
	queues     = []string{jobs.DefaultQueue, "[1,2]", "Q"}
	keys       = []string{"u", `%_"'\`}
	users      = []string{"alice", "\u202ebob"}
	tags       = []string{"red", "re", `"`, `\`, "[", ",", "e\u0301"}
	workers    = []string{"anna", "berta", `c"`}
	priorities = []int{0, 1, -1, 5, jobs.MaxPriority, jobs.MinPriority}
	attempts   = []int{1, 2, 3, jobs.MaxAttemptsLimit, 0}
	delays     = []time.Duration{
		time.Second, 0, 1, 999, time.Microsecond, 1500, time.Minute, 24*time.Hour + 1, 100 * 365 * 24 * time.Hour,
	}
	periods = []time.Duration{time.Second, time.Microsecond, 1500, time.Minute, time.Hour, 24 * time.Hour}
	// Long enough that no attempt of this test ends by it.
	timeouts     = []time.Duration{time.Hour, 90*time.Minute + 1500, 1<<63 - 1}
	kindTimeouts = []time.Duration{0, time.Hour, 2 * time.Hour}
	messages     = []string{"bad", "", "\u00e9 'x' \"y\" \\ %s ? $1\n\tz", "\U0001F4A9"}
	payloads     = []string{
		`{}`, `null`, `0`, `-0`, `""`, " \t\r\n{ \"a\" :\n[ 1 ,2 ] }\r\n ", `{"b":1,"a":1,"a":2,"":null}`,
		`[1.0,1e2,1E+2,0.10,-0.0,1e400,123456789012345678901234567890]`, `"\u0041\u00e9\/\b\u001f"`, `"\ud83d\uDE00"`,
		`"\\u0000 \\ud800"`, "\"\u2028\u007f\u0080\ufffd\uffff\ufeff\"", `"<&>'%s ? $1 :x"`,
		strings.Repeat("[", jobs.MaxDepth) + strings.Repeat("]", jobs.MaxDepth),
	}
	badPayloads = []string{``, `{`, `NaN`, `"\u0000"`, `"\ud800"`, "\"\xff\"", strings.Repeat("[", jobs.MaxDepth+1) + strings.Repeat("]", jobs.MaxDepth+1)}
)

func pick[T any](t *rapid.T, label string, from []T) T { return rapid.SampledFrom(from).Draw(t, label) }

// seldom is true in one case of n.
func seldom(t *rapid.T, label string, n int) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}

// some draws distinct values, in any order. rapid has a generator for that, which draws again after a repeated value; a
// sequence in which that happened cannot be shrunk.
func some[T any](t *rapid.T, label string, from []T, least, most int) []T {
	rest := slices.Clone(from)
	var list []T
	for range rapid.IntRange(least, min(most, len(from))).Draw(t, "number of "+label) {
		i := rapid.IntRange(0, len(rest)-1).Draw(t, label)
		list = append(list, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	return list
}

// text draws JSON that every engine takes.
func text(t *rapid.T, label string) json.RawMessage {
	if rapid.Bool().Draw(t, label+" is made up") {
		return json.RawMessage(jsonText(3).Draw(t, label))
	}
	return json.RawMessage(pick(t, label, payloads))
}

// jsonText makes JSON of any form, nested up to a depth.
func jsonText(depth int) *rapid.Generator[string] {
	scalars := []*rapid.Generator[string]{
		rapid.SampledFrom([]string{"0", "true", "false", "null"}),
		rapid.Map(rapid.Int64(), func(n int64) string { return string(encoded(n)) }),
		rapid.Map(rapid.Float64(), func(f float64) string { return string(encoded(f)) }),
		quoted(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	item := jsonText(depth - 1)
	return rapid.OneOf(append(scalars,
		rapid.Map(rapid.SliceOfN(item, 0, 3), func(items []string) string { return "[" + strings.Join(items, ", ") + "]" }),
		rapid.Custom(func(t *rapid.T) string {
			var fields []string
			for range rapid.IntRange(0, 3).Draw(t, "fields") {
				fields = append(fields, quoted().Draw(t, "name")+":"+item.Draw(t, "value"))
			}
			return "{" + strings.Join(fields, ",") + "}"
		}))...)
}

// quoted makes JSON strings; a NUL, which no payload may hold, becomes a space.
func quoted() *rapid.Generator[string] {
	return rapid.Map(rapid.StringN(0, 20, -1), func(s string) string {
		return string(encoded(strings.ReplaceAll(s, "\x00", " ")))
	})
}
