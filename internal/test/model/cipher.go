package model

import (
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// valueKeys are the ids of the keys that a job's values are encrypted with; empty for a plain value and for none.
type valueKeys struct {
	Payload, Progress, Result, LastError string
}

// textKeys holds the keys of the texts of an attempt.
type textKeys struct {
	Message, Stack string
}

// keysOf returns the keys of a job's values.
func (j *job) keysOf() valueKeys {
	k := j.keys
	k.Progress, k.Result, k.LastError = keyIf(len(j.Progress) > 0, k.Progress), keyIf(len(j.Result) > 0, k.Result), keyIf(j.LastError != "", k.LastError)
	return k
}

// keysOf returns the keys of an attempt's texts.
func (e attemptEnd) keysOf() textKeys {
	return textKeys{keyIf(e.Message != "", e.key), keyIf(e.Stack != "", e.key)}
}

// keyIf returns a key if there is a value.
func keyIf(there bool, key string) string {
	if there {
		return key
	}
	return ""
}

// rekey encrypts with the newest key all values with an older one, and with plain also the plain ones.
func (q *queue) rekey(plain bool) inspect.Rekeyed {
	done := inspect.Rekeyed{Keys: map[string]int64{}}
	outdated := func(there bool, key string) bool { return there && key != q.key && (key != "" || plain) }
	for _, s := range q.schedules {
		if outdated(true, s.key) {
			s.key = q.key
			done.Schedules++
		}
	}
	for _, j := range q.jobs {
		changed := false
		for _, value := range []struct {
			there bool
			key   *string
		}{
			{!j.isForgotten(), &j.keys.Payload}, {len(j.Progress) > 0, &j.keys.Progress}, {len(j.Result) > 0, &j.keys.Result},
			{j.LastError != "", &j.keys.LastError},
		} {
			if outdated(value.there, *value.key) {
				*value.key, changed = q.key, true
			}
		}
		if changed {
			done.Jobs++
		}
		for i, e := range j.attempts {
			if e.Message != jobs.Forgotten && outdated(e.Message != "" || e.Stack != "", e.key) {
				j.attempts[i].key = q.key
				done.Errors++
			}
		}
	}
	return done
}

// keyView returns the keys of all values.
func (q *queue) keyView() (of map[int64]valueKeys, texts map[int64][]textKeys, schedules map[string]string) {
	of, texts, schedules = map[int64]valueKeys{}, map[int64][]textKeys{}, map[string]string{}
	for _, j := range q.jobs {
		of[j.ID] = j.keysOf()
		for _, e := range j.attempts {
			texts[j.ID] = append(texts[j.ID], e.keysOf())
		}
	}
	for name, s := range q.schedules {
		schedules[name] = s.key
	}
	return of, texts, schedules
}
