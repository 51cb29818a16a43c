package model

import (
	"encoding/json"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// update holds the changes of a waiting job by a caller; nil for a field that stays.
type update struct {
	priority, maxAttempts *int
	queue                 *string
	runAfter              *time.Time
	payload               json.RawMessage
	onlyIf                jobs.Status // empty for any
	bad                   bool        // one of the values must be refused
}

// update changes a job that does not run. One that gets a place in its queue becomes scheduled, until the next promotion.
func (q *queue) update(id int64, u update) error {
	j := q.job(id)
	switch {
	case u.bad:
		return errInvalid
	case j == nil:
		return jobs.ErrNotFound
	case j.Status != jobs.StatusScheduled && j.Status != jobs.StatusPending, u.onlyIf != "" && u.onlyIf != j.Status:
		return jobs.ErrStatus
	case u.runAfter != nil && !j.StartBy.IsZero() && !j.StartBy.After(*u.runAfter):
		return errInvalid
	}
	if u.priority != nil || u.queue != nil || u.runAfter != nil {
		j.Status = jobs.StatusScheduled
	}
	set(&j.Priority, u.priority)
	if u.maxAttempts != nil {
		setAttempts(&j.Job, *u.maxAttempts)
		q.resolve(&j.Job)
	}
	set(&j.Queue, u.queue)
	set(&j.RunAfter, u.runAfter)
	if u.payload != nil {
		j.Payload, j.keys.Payload = u.payload, q.key
		j.Uncounted, j.Crashes, j.Progress = j.Attempt, 0, nil
	}
	j.UpdatedAt = q.now
	return nil
}

// set changes a value unless to is nil.
func set[T any](value, to *T) {
	if to != nil {
		*value = *to
	}
}
