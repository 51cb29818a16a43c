package core

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

// The first and the last time that RFC 3339, and so JSON, can write: the years 0 and 9999.
const (
	firstMicros = -62_167_219_200_000_000
	lastMicros  = 253_402_300_799_999_999
)

// Earliest is the first time that a column holds, except for 0: 100,000,000 seconds after 1970. A smaller number is more likely a time
// in another unit.
var Earliest = time.UnixMicro(100_000_000_000_000).UTC()

// Latest is the last time that a column holds: the end of the year 9999.
var Latest = time.UnixMicro(lastMicros).UTC()

// ClockAhead is the largest time by which a past time may lie ahead of now, because clocks differ. A time further ahead was written by a
// clock that was ahead.
const ClockAhead = time.Minute

// Micros returns a time as a column holds it: unix microseconds, UTC. Every time of the database is one; 0 stands for none.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Time returns the time in a column, and the zero time for 0. A value beyond the years 0 to 9999, such as nanoseconds that
// another program wrote, becomes the first or the last of these times.
func Time(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(min(max(us, firstMicros), lastMicros)).UTC()
}

// Duration returns the microseconds in a column as a duration, and the longest duration when they exceed it.
func Duration(us int64) time.Duration {
	return time.Duration(min(us, int64(math.MaxInt64/time.Microsecond))) * time.Microsecond
}

// Deref returns the value that p points to, and the zero value for nil.
func Deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// Optional returns a pointer to v, and nil, which becomes NULL, for the zero value.
func Optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Raw returns the JSON in a column that may be NULL.
func Raw(s *string) json.RawMessage {
	if s == nil {
		return nil
	}
	return JSON(*s)
}

// JSON returns the text of a JSON column as it is, or as a JSON string if it is not JSON: another program may have written
// it with the CHECKs off, and one such row must not make a whole list unreadable.
func JSON(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return AppendString(nil, strings.ToValidUTF8(text, "\uFFFD"))
}

// Tags returns the tags in a column: a JSON list of strings. Anything else that another program put there becomes one tag.
func Tags(s *string) []string {
	if s == nil {
		return nil
	}
	var tags []string
	if err := json.Unmarshal([]byte(*s), &tags); err != nil {
		return []string{*s}
	}
	return tags
}

// EndStopped is the end_reason of a worker that stopped in good order.
const EndStopped = "stopped"
