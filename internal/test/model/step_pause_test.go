package model

import (
	"time"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/jobs"
)

// pause pauses or resumes a queue, or a kind in it.
func (m *machine) pause(t *rapid.T) {
	what := paused{queue: pick(t, "queue", queues)}
	if rapid.Bool().Draw(t, "one kind") {
		what.kind = pick(t, "kind", kinds)
	}
	if rapid.Bool().Draw(t, "resume") {
		m.resume(t, what)
		return
	}
	until, opts := m.pauseEnd(t)
	reason := pick(t, "reason", []string{"", "the provider is down"})
	opts = append(opts, jobs.PauseReason(reason))
	want, wantErr := m.model.pause(what, until, reason)
	t.Logf("pause %+v until %s, %q: %v, %v", what, until, reason, want, wantErr)
	each(m, "pause", want, wantErr, func(e *engine) (bool, error) {
		if what.kind != "" {
			return e.client.PauseKind(m.ctx, what.queue, what.kind, opts...)
		}
		return e.client.PauseQueue(m.ctx, what.queue, opts...)
	})
}

func (m *machine) resume(t *rapid.T, what paused) {
	want := m.model.resume(what)
	t.Logf("resume %+v: %v", what, want)
	each(m, "resume", want, nil, func(e *engine) (bool, error) {
		if what.kind != "" {
			return e.client.ResumeKind(m.ctx, what.queue, what.kind)
		}
		return e.client.ResumeQueue(m.ctx, what.queue)
	})
}

// pauseEnd draws when a pause ends; the zero time when it does not end by itself.
func (m *machine) pauseEnd(t *rapid.T) (time.Time, []jobs.PauseOption) {
	after := pick(t, "after", append([]time.Duration{0, 0, -1}, periods...))
	until := m.model.now.Add(after)
	switch {
	case rapid.Bool().Draw(t, "at a time"):
		return until, []jobs.PauseOption{jobs.PauseUntil(until)}
	case after == 0:
		return time.Time{}, []jobs.PauseOption{jobs.PauseFor(0)}
	default:
		return until, []jobs.PauseOption{jobs.PauseFor(after)}
	}
}
