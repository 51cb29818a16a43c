package human

import (
	"fmt"
	"time"
)

// Age returns the distance of t from now in one unit: "3m ago", "in 2h", or "-" for the zero time.
func Age(now, t time.Time) string {
	// Not as a time.Duration, whose maximum is 292 years.
	switch seconds := now.Unix() - t.Unix(); {
	case t.IsZero():
		return "-"
	case seconds < 0 || seconds == 0 && t.After(now):
		return "in " + Span(-seconds)
	default:
		return Span(seconds) + " ago"
	}
}

// Span returns a number of seconds in its largest unit, for tables.
func Span(seconds int64) string {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	switch {
	case seconds < minute:
		return fmt.Sprintf("%ds", seconds)
	case seconds < hour:
		return fmt.Sprintf("%dm", seconds/minute)
	case seconds < 2*day:
		return fmt.Sprintf("%dh", seconds/hour)
	default:
		return fmt.Sprintf("%dd", seconds/day)
	}
}

// Moment returns a time in full, in the local zone, with its age.
func Moment(now, t time.Time) string { return MomentIn(now, t.Local()) }

// MomentIn returns a time in full, in the zone of t, with its age; "-" for the zero time.
func MomentIn(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format("2006-01-02T15:04:05.000Z07:00") + " (" + Age(now, t) + ")"
}
