package admin

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// jobView is the page of a job.
type jobView struct {
	detail
	Why     []inspect.Finding // why it does not run
	Worker  string            // the name of the worker that runs it
	Changes []jobAction
}

func (h *Handler) jobPage(r *http.Request) (view, error) {
	a, err := h.getJob(r)
	if err != nil {
		return view{}, err
	}
	v := jobView{detail: a.body.(detail)}
	v.Changes = jobActionsFor(v.Status)
	diagnosis, err := h.inspector.Why(r.Context(), v.ID)
	if err != nil {
		return view{}, err
	}
	if diagnosis.Status == v.Status { // otherwise the job has changed since it was read
		v.Why = slices.DeleteFunc(diagnosis.Findings, func(f inspect.Finding) bool { return f.Reason == inspect.ReasonEnded }) // the page shows the status
	}
	if v.Status == jobs.StatusRunning {
		workers, err := h.inspector.Workers(r.Context())
		if err != nil {
			return view{}, err
		}
		if i := slices.IndexFunc(workers, func(w inspect.WorkerInfo) bool { return w.ID == v.WorkerID }); i >= 0 {
			v.Worker = workers[i].Name
		}
	}
	return view{"job", v.Kind, v}, nil
}

// timelineEntry is an event in the life of a job.
type timelineEntry struct {
	At    time.Time
	What  string
	Class string // of CSS: its colour
	Error *inspect.AttemptError
	Note  string
}

// Timeline returns the events in the life of the job, the earliest first.
func (v jobView) Timeline() []timelineEntry {
	list := []timelineEntry{{At: v.CreatedAt, What: "Enqueued", Class: "created"}}
	if due := v.RunAfter; due.Sub(v.CreatedAt) >= time.Millisecond && v.Status != jobs.StatusScheduled {
		list = append(list, timelineEntry{At: due, What: "Due", Class: "due"})
	}
	for i := range v.Errors {
		e := &v.Errors[i]
		list = append(list, timelineEntry{At: e.EndedAt, What: "Attempt " + number(e.Attempt), Class: "failed", Error: e})
	}
	if !v.CancelRequested.IsZero() {
		list = append(list, timelineEntry{At: v.CancelRequested, What: "Asked to stop", Class: "cancelled"})
	}
	switch v.Status {
	case jobs.StatusScheduled:
		list = append(list, timelineEntry{At: v.RunAfter, What: "Runs again", Class: "scheduled"})
		if v.Attempt == 0 {
			list[len(list)-1].What = "Falls due"
		}
	case jobs.StatusPending:
		list = append(list, timelineEntry{At: later(v.RunAfter, v.UpdatedAt), What: "Waits for a worker", Class: "pending"})
	case jobs.StatusRunning:
		list = append(list, timelineEntry{At: v.StartedAt, What: "Attempt " + number(v.Attempt) + " runs", Class: "running", Note: v.Worker})
	case jobs.StatusDone:
		list = append(list,
			timelineEntry{At: v.StartedAt, What: "Attempt " + number(v.Attempt), Class: "running"},
			timelineEntry{At: v.FinishedAt, What: "Done", Class: "done", Note: "in " + span(v.FinishedAt.Sub(v.StartedAt))})
	case jobs.StatusFailed:
		list = append(list, timelineEntry{At: v.FinishedAt, What: "Failed for good", Class: "failed"})
	case jobs.StatusCancelled:
		list = append(list, timelineEntry{At: v.FinishedAt, What: "Cancelled", Class: "cancelled"})
	}
	list = slices.DeleteFunc(list, func(m timelineEntry) bool { return m.At.IsZero() })
	slices.SortStableFunc(list, func(a, b timelineEntry) int { return cmp.Compare(a.At.UnixMicro(), b.At.UnixMicro()) })
	return list
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
