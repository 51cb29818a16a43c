package core

import "time"

// Earlier returns the earlier of two times, and b when a is zero, which stands for none.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
