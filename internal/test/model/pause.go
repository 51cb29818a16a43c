package model

import (
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs/inspect"
)

// paused names the kind in a queue that a pause stops claims of, or the whole queue when the kind is empty.
type paused struct{ queue, kind string }

// pause is the row of a pause.
type pause struct {
	PausedAt, UpdatedAt time.Time
	Until               time.Time // zero for one that does not end by itself
	Reason              string
}

// isPaused reports whether nothing of a kind is claimed from a queue.
func (q *queue) isPaused(name, kind string) bool {
	_, whole := q.pauses[paused{name, ""}]
	_, one := q.pauses[paused{name, kind}]
	return whole || one
}

// isHeld reports whether a pause that is not over holds a job.
func (q *queue) isHeld(j *job) bool {
	for _, kind := range []string{"", j.Kind} {
		if row, there := q.pauses[paused{j.Queue, kind}]; there && !row.isOver(q.now) {
			return true
		}
	}
	return false
}

// pause stops claims until a time, or for ever when that is zero. It reports whether that changed anything: the later end holds.
func (q *queue) pause(what paused, until time.Time, reason string) (bool, error) {
	if !until.IsZero() && !until.After(q.now) {
		return false, errInvalid
	}
	row, known := q.pauses[what]
	switch until = micros(until); {
	case !known, row.isOver(q.now):
		row.PausedAt = q.now
	case row.Until.IsZero() || !until.IsZero() && !until.After(row.Until):
		return false, nil
	}
	row.Until, row.Reason, row.UpdatedAt = until, reason, q.now
	q.pauses[what] = row
	return true, nil
}

// resume ends a pause and reports whether there was one that was not over.
func (q *queue) resume(what paused) bool {
	row, known := q.pauses[what]
	delete(q.pauses, what)
	return known && !row.isOver(q.now)
}

// isOver reports whether a pause has ended.
func (p pause) isOver(now time.Time) bool { return !p.Until.IsZero() && !p.Until.After(now) }

// resumeDue ends the pauses whose end has come.
func (q *queue) resumeDue() {
	for what, row := range q.pauses {
		if row.isOver(q.now) {
			q.resume(what)
		}
	}
}

// showPauses notes the pauses in the list of queues.
func (q *queue) showPauses(change func(name string, change func(*inspect.QueueInfo))) {
	for what, row := range q.pauses {
		if what.kind == "" {
			change(what.queue, func(i *inspect.QueueInfo) {
				i.PausedAt, i.PausedUntil, i.PauseReason = row.PausedAt, row.Until, row.Reason
			})
			continue
		}
		change(what.queue, func(i *inspect.QueueInfo) {
			i.PausedKinds = append(i.PausedKinds, inspect.KindPause{Kind: what.kind, At: row.PausedAt, Until: row.Until, Reason: row.Reason})
			slices.SortFunc(i.PausedKinds, func(a, b inspect.KindPause) int { return strings.Compare(a.Kind, b.Kind) })
		})
	}
}
