package model

import (
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// isAhead reports whether a time of the past lies so far in the future that a clock wrote it that was ahead.
func (q *queue) isAhead(t time.Time) bool { return t.After(q.now.Add(time.Minute)) }

// mendAhead lets the times that a clock wrote while it was ahead go on from now: keys that are taken for a time, pauses that end by
// themselves, and schedules.
func (q *queue) mendAhead() {
	for k, taken := range q.periods {
		if q.isAhead(taken.since) && q.isAhead(taken.until) {
			q.periods[k] = period{q.now, q.now.Add(taken.until.Sub(taken.since)), taken.job}
		}
	}
	for what, p := range q.pauses {
		if q.isAhead(p.PausedAt) && q.isAhead(p.Until) {
			p.Until, p.PausedAt, p.UpdatedAt = q.now.Add(p.Until.Sub(p.PausedAt)), q.now, q.now
			q.pauses[what] = p
		}
	}
	for _, s := range q.schedules {
		if !q.isAhead(s.Next) || !slices.ContainsFunc([]time.Time{s.Updated, s.Start, s.Last}, q.isAhead) {
			continue
		}
		s.Updated, s.Next = q.now, q.now
		for _, at := range []*time.Time{&s.Start, &s.Last, &s.Owed, &s.Paused} {
			if q.isAhead(*at) {
				*at = q.now
			}
		}
		s.ticks = slices.DeleteFunc(s.ticks, func(t jobs.ScheduleTick) bool { return t.Tick.After(q.now.Add(24 * time.Hour)) })
	}
}
