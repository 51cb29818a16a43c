package model

import (
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs/inspect"
)

// paused names what a pause stops claims of: a kind in a queue, or the whole queue when the kind is empty.
type paused struct{ queue, kind string }

// pause is the row of a pause. That of a queue stays after it was resumed, with PausedAt zero.
type pause struct {
	PausedAt, UpdatedAt time.Time
	Until               time.Time // zero for one that does not end by itself
}

// isPaused reports whether nothing of a kind is claimed from a queue.
func (q *queue) isPaused(name, kind string) bool {
	return !q.pauses[paused{name, ""}].PausedAt.IsZero() || !q.pauses[paused{name, kind}].PausedAt.IsZero()
}

// pause stops claims until a time, or for ever when that is zero. It reports whether that changed anything.
func (q *queue) pause(what paused, until time.Time) (bool, error) {
	if !until.IsZero() && !until.After(q.now) {
		return false, errInvalid
	}
	row := q.pauses[what]
	if !row.PausedAt.IsZero() && row.Until.Equal(micros(until)) {
		return false, nil
	}
	if row.PausedAt.IsZero() {
		row.PausedAt = q.now
	}
	row.Until, row.UpdatedAt = micros(until), q.now
	q.pauses[what] = row
	return true, nil
}

// resume ends a pause and reports whether there was one.
func (q *queue) resume(what paused) bool {
	if q.pauses[what].PausedAt.IsZero() {
		return false
	}
	q.pauses[what] = pause{UpdatedAt: q.now}
	if what.kind != "" {
		delete(q.pauses, what)
	}
	return true
}

// resumeDue ends the pauses whose end has come.
func (q *queue) resumeDue() {
	for what, row := range q.pauses {
		if !row.Until.IsZero() && !row.Until.After(q.now) {
			q.resume(what)
		}
	}
}

// showPauses notes the pauses in the list of queues.
func (q *queue) showPauses(change func(name string, change func(*inspect.QueueInfo))) {
	for what, row := range q.pauses {
		switch {
		case row.PausedAt.IsZero():
		case what.kind == "":
			change(what.queue, func(i *inspect.QueueInfo) { i.PausedAt, i.PausedUntil = row.PausedAt, row.Until })
		default:
			change(what.queue, func(i *inspect.QueueInfo) {
				i.PausedKinds = append(i.PausedKinds, inspect.KindPause{Kind: what.kind, At: row.PausedAt, Until: row.Until})
				slices.SortFunc(i.PausedKinds, func(a, b inspect.KindPause) int { return strings.Compare(a.Kind, b.Kind) })
			})
		}
	}
}
