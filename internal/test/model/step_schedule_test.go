package model

import (
	"log/slog"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var schedules = []string{"s", `it's "odd"`}

// putSchedule adds or changes a schedule.
func (m *machine) putSchedule(t *rapid.T) {
	s := schedule{
		every:    pick(t, "every", []time.Duration{time.Second, 90 * time.Second, time.Hour, 24 * time.Hour}),
		priority: pick(t, "priority", priorities), catchUp: 1,
		within: pick(t, "start within", []time.Duration{0, 0, time.Second, time.Hour}),
	}
	s.Name, s.Kind, s.Queue, s.Payload = pick(t, "name", schedules), pick(t, "kind", kinds), pick(t, "queue", queues), text(t, "payload")
	if seldom(t, "of a user", 3) {
		s.user = pick(t, "user", users)
	}
	catchUp := pick(t, "catch up", []jobs.CatchUp{jobs.CatchUpLatest, jobs.CatchUpNone, "all"})
	if catchUp == "all" {
		s.catchUp = rapid.IntRange(1, 3).Draw(t, "at most")
		catchUp = jobs.CatchUpAll(s.catchUp)
	}
	overlap := pick(t, "overlap", []jobs.Overlap{jobs.OverlapAllow, jobs.OverlapSkip, jobs.OverlapReplace, jobs.OverlapAfter})
	s.Spec, s.Zone, s.CatchUp, s.Overlap, s.Declared = "@every "+s.every.String(), "UTC", string(catchUp), string(overlap), true
	before := m.model.lastJob
	m.model.putSchedule(s)
	t.Logf("put schedule %+v", s)
	parts := []jobs.ScheduleOption{catchUp, overlap, jobs.Queue(s.Queue), jobs.Priority(s.priority), jobs.StartWithin(s.within)}
	if s.user != "" {
		parts = append(parts, jobs.UserID(s.user))
	}
	theirs := jobs.NewSchedule(s.Name, s.Spec, s.Kind, s.Payload, parts...)
	each(m, "put a schedule", struct{}{}, nil, func(e *engine) (struct{}, error) {
		if err := e.client.PutSchedule(m.ctx, theirs); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, m.learnNew(e, before)
	})
}

// changeSchedule pauses, resumes or deletes a schedule.
func (m *machine) changeSchedule(t *rapid.T) {
	name, change := pick(t, "name", schedules), pick(t, "change", []string{"pause", "resume", "resume", "delete"})
	var want bool
	var wantErr error
	switch change {
	case "pause":
		want, wantErr = m.model.pauseSchedule(name)
	case "resume":
		want, wantErr = m.model.resumeSchedule(name)
	default:
		want = m.model.deleteSchedule(name)
	}
	t.Logf("%s schedule %s: %v, %v", change, strconv.Quote(name), want, wantErr)
	each(m, change+" a schedule", want, wantErr, func(e *engine) (bool, error) {
		switch change {
		case "pause":
			return e.client.PauseSchedule(m.ctx, name)
		case "resume":
			return e.client.ResumeSchedule(m.ctx, name)
		default:
			return e.client.DeleteSchedule(m.ctx, name)
		}
	})
}

// runSchedule enqueues a job of a schedule at once.
func (m *machine) runSchedule(t *rapid.T) {
	name := pick(t, "name", schedules)
	want, wantErr := m.model.runSchedule(name)
	t.Logf("run schedule %s: %d, %v", strconv.Quote(name), want, wantErr)
	each(m, "run a schedule", want, wantErr, func(e *engine) (int64, error) {
		id, err := e.client.RunSchedule(m.ctx, name)
		if err == nil && wantErr == nil {
			m.learnJobs(e, []int64{want}, []int64{id})
		}
		return e.jobs.from(id), err
	})
}

// serve does the work of a worker's scheduler that has looked since a moment.
func (m *machine) serve(t *rapid.T) {
	since := m.model.now.Add(-pick(t, "looked for", append([]time.Duration{0}, periods...)))
	before := m.model.lastJob
	m.model.serve(since)
	t.Logf("serve schedules, looked since %s: %d jobs", since, m.model.lastJob-before)
	each(m, "serve schedules", struct{}{}, nil, func(e *engine) (struct{}, error) {
		s := maintenance.Upkeep{Store: e.store, Log: slog.New(slog.DiscardHandler), Declared: "[]", Notes: &refusal.Notes{}}
		if _, err := s.Once(m.ctx, since); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, m.learnNew(e, before)
	})
}

// learnNew learns the ids of the jobs after one of the model, which are in the order in which they were added.
func (m *machine) learnNew(e *engine, last int64) error {
	n := int(m.model.lastJob - last)
	if n == 0 {
		return nil
	}
	list, err := inspect.New(e.client).List(m.ctx, inspect.Filter{Limit: n})
	for i, j := range slices.Backward(list) {
		if e.jobs.from(j.ID) < 0 { // otherwise the engine has added fewer
			m.learnJobs(e, []int64{m.model.lastJob - int64(i)}, []int64{j.ID})
		}
	}
	return err
}
