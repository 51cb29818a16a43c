package model

import (
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/jobs"
)

// update changes some columns of a job, most often of one that waits.
func (m *machine) update(t *rapid.T) {
	id := m.jobWith(t, func(j *job) bool { return j.Status == jobs.StatusScheduled || j.Status == jobs.StatusPending })
	var u update
	var opts []jobs.UpdateOption
	for _, column := range some(t, "columns", []string{"payload", "priority", "run_after", "queue", "max_attempts"}, 1, 3) {
		opts = append(opts, m.updateOption(t, column, &u))
	}
	if seldom(t, "bad value", 20) {
		u.bad = true
		opts = append(opts, m.badUpdate(t))
	}
	if seldom(t, "only in one status", 4) {
		u.onlyIf = pick(t, "status", jobs.Statuses())
		opts = append(opts, jobs.OnlyIf(u.onlyIf))
	}
	wantErr := m.model.update(id, u)
	t.Logf("update job %d: %+v, %v", id, u, wantErr)
	each(m, "update", struct{}{}, wantErr, func(e *engine) (struct{}, error) {
		return struct{}{}, e.client.Update(m.ctx, e.jobs.to(id), opts...)
	})
}

// updateOption draws the new value of a column.
func (m *machine) updateOption(t *rapid.T, column string, u *update) jobs.UpdateOption {
	switch column {
	case "priority":
		u.priority = new(pick(t, column, priorities))
		return jobs.SetPriority(*u.priority)
	case "run_after":
		if rapid.Bool().Draw(t, "at once") {
			u.runAfter = new(m.model.now)
			return jobs.SetRunAfter(time.Time{})
		}
		at := m.model.now.Add(pick(t, column, append([]time.Duration{-time.Minute}, delays...)))
		u.runAfter = new(micros(at))
		return jobs.SetRunAfter(at)
	case "queue":
		u.queue = new(pick(t, column, queues))
		return jobs.SetQueue(*u.queue)
	case "max_attempts":
		u.maxAttempts = new(pick(t, column, attempts))
		return jobs.SetMaxAttempts(*u.maxAttempts)
	default:
		u.payload = text(t, column)
		return jobs.SetPayload(u.payload)
	}
}

// badUpdate draws a value that is refused.
func (m *machine) badUpdate(t *rapid.T) jobs.UpdateOption {
	return pick(t, "bad value", []func() jobs.UpdateOption{
		func() jobs.UpdateOption { return jobs.SetPriority(jobs.MinPriority - 1) },
		func() jobs.UpdateOption { return jobs.SetRunAfter(m.model.now.Add(-time.Minute - 1)) },
		func() jobs.UpdateOption { return jobs.SetQueue("") },
		func() jobs.UpdateOption { return jobs.SetMaxAttempts(-1) },
		func() jobs.UpdateOption { return jobs.SetPayload(strings.Repeat("x", jobs.MaxPayload)) },
	})()
}
