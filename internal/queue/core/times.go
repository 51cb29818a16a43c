package core

import "time"

// Earlier returns the earlier of two times. A zero time means no time.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
