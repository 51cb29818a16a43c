package model

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// forgotten is the payload of an erased job.
const forgotten = `"` + jobs.Forgotten + `"`

// isForgotten reports whether a job was erased.
func (j *job) isForgotten() bool { return string(j.Payload) == forgotten }

// forgetUser cancels the live jobs of a user, deletes the user's schedules and erases the values of the ended jobs.
func (q *queue) forgetUser(user string) inspect.Forgotten {
	done := inspect.Forgotten{}
	for _, name := range slices.Sorted(maps.Keys(q.schedules)) {
		if q.schedules[name].user == user {
			q.deleteSchedule(name)
			done.Schedules = append(done.Schedules, name)
		}
	}
	theirs := func(j *job) bool { return j.UserID == user }
	for _, j := range q.having(theirs) {
		asked := !j.CancelRequested.IsZero()
		if _, err := q.cancel(j.ID); err == nil && !asked {
			done.Cancelled++
		}
	}
	for _, j := range q.having(theirs) {
		switch {
		case j.live():
			done.Live++
		case j.erase():
			done.Erased++
		}
	}
	return done
}

// erase erases the values of a job, and reports whether anything of the job's row changed.
func (j *job) erase() bool {
	changed := !j.isForgotten() || j.Metadata != nil || j.Tags != nil || j.Progress != nil || j.Result != nil || j.LastError != ""
	j.Payload, j.keys = json.RawMessage(forgotten), valueKeys{}
	j.Metadata, j.Tags, j.Progress, j.Result, j.LastError = nil, nil, nil, nil, ""
	for i, e := range j.attempts {
		if e.Message == "" && e.Stack == "" {
			continue
		}
		j.attempts[i].Message, j.attempts[i].Stack, j.attempts[i].key = jobs.Forgotten, "", ""
	}
	return changed
}
