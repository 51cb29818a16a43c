package admin

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// jobView is the page of a job.
type jobView struct {
	detail
	Why     []inspect.Finding // why it does not run
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
	return view{"job", v.Kind, v}, nil
}

// Changeable reports whether the job can be updated.
func (v jobView) Changeable() bool {
	return v.Status == jobs.StatusScheduled || v.Status == jobs.StatusPending
}

// FormTime returns when the job is due, as a field of a form has it.
func (v jobView) FormTime() string { return v.RunAfter.UTC().Format(formTime) }

// timelineEntry is an event in the life of a job.
type timelineEntry struct {
	At    time.Time
	What  string
	Class string // of CSS: its colour
	End   *inspect.AttemptEnd
	Note  string
	// Before is set of what happened at an unknown time before At.
	Before bool
}

// Timeline returns the events in the life of the job, the earliest first.
func (v jobView) Timeline() []timelineEntry {
	list := []timelineEntry{{At: v.CreatedAt, What: "Enqueued", Class: "created"}}
	if due := v.RunAfter; due.Sub(v.CreatedAt) >= time.Millisecond && v.Status != jobs.StatusScheduled {
		list = append(list, timelineEntry{At: due, What: "Due", Class: "due"})
	}
	list = append(list, v.unrecorded()...)
	for i := range v.ends {
		e := &v.ends[i]
		entry := timelineEntry{At: e.EndedAt, What: "Attempt " + number(e.Attempt), Class: outcomeClass(e.Cause), End: e}
		if e.Cause == jobs.CauseExpired && e.StartedAt.IsZero() {
			entry.What, entry.Class = "Not started in time", "cancelled"
		}
		list = append(list, entry)
	}
	if !v.CancelRequested.IsZero() {
		list = append(list, timelineEntry{At: v.CancelRequested, What: "Asked to stop", Class: "cancelled"})
	}
	list = append(list, v.lastAttempt()...)
	switch v.Status {
	case jobs.StatusScheduled:
		list = append(list, timelineEntry{At: v.RunAfter, What: "Runs again", Class: "scheduled"})
		if v.Attempt == 0 {
			list[len(list)-1].What = "Falls due"
		}
	case jobs.StatusPending:
		list = append(list, timelineEntry{At: later(v.RunAfter, v.UpdatedAt), What: "Waits for a worker", Class: "pending"})
	case jobs.StatusDone:
		list = append(list, timelineEntry{At: v.FinishedAt, What: "Done", Class: "done", Note: "in " + span(v.FinishedAt.Sub(v.StartedAt))})
	case jobs.StatusFailed:
		list = append(list, timelineEntry{At: v.FinishedAt, What: "Failed for good", Class: "failed"})
	case jobs.StatusCancelled:
		list = append(list, timelineEntry{At: v.FinishedAt, What: "Cancelled", Class: "cancelled"})
	}
	list = slices.DeleteFunc(list, func(m timelineEntry) bool { return m.At.IsZero() })
	slices.SortStableFunc(list, func(a, b timelineEntry) int { return cmp.Compare(a.At.UnixMicro(), b.At.UnixMicro()) })
	return list
}

// Ran returns how long the attempt took, and on which worker.
func (m timelineEntry) Ran() string {
	var parts []string
	switch e := m.End; {
	case !e.StartedAt.IsZero():
		parts = append(parts, "after "+span(e.EndedAt.Sub(e.StartedAt)))
	case e.Worker != "":
		parts = append(parts, "not started")
	}
	if worker := onHost(m.End.Worker, m.End.Host); worker != "" {
		parts = append(parts, "worker "+worker)
	}
	return strings.Join(parts, ", ")
}

// outcomeClass returns the class of CSS of an attempt's end.
func outcomeClass(cause jobs.Cause) string {
	switch {
	case cause == jobs.CauseCancelled:
		return "cancelled"
	case cause.Failed():
		return "failed"
	}
	return "scheduled"
}

// unrecorded returns the attempts of the page that have no row.
func (v jobView) unrecorded() (list []timelineEntry) {
	for _, r := range v.Gaps {
		entry := timelineEntry{At: v.StartedAt, What: "Attempt " + number(r.First), Class: "scheduled", Note: "not recorded", Before: true}
		if r.First < r.Last {
			entry.What = "Attempts " + number(r.First) + " to " + number(r.Last)
		}
		after := slices.IndexFunc(v.ends, func(e inspect.AttemptEnd) bool { return e.Attempt > r.Last })
		if after >= 0 {
			entry.At = v.ends[after].StartedAt
			if entry.At.IsZero() {
				entry.At = v.ends[after].EndedAt
			}
		}
		list = append(list, entry)
	}
	return list
}

// lastAttempt returns the start of the attempt that the job's row has, unless its end is recorded.
func (v jobView) lastAttempt() []timelineEntry {
	if v.Last == nil || !v.latest || slices.ContainsFunc(v.ends, func(e inspect.AttemptEnd) bool { return e.Attempt == v.Last.Attempt }) {
		return nil
	}
	entry := timelineEntry{At: v.Last.StartedAt, What: "Attempt " + number(v.Last.Attempt), Class: "running", Note: v.RanOn()}
	if v.Status == jobs.StatusRunning {
		entry.What += " runs"
	}
	return []timelineEntry{entry}
}

// RanOn returns the worker of the attempt that runs, or in which the job ended, and its host; "" if none is known.
func (v jobView) RanOn() string {
	if v.Last == nil {
		return ""
	}
	return onHost(v.Last.Worker, v.Last.Host)
}

// onHost returns the name of a worker with its host, unless that is part of it.
func onHost(worker, host string) string {
	if host == "" || strings.Contains(worker, host) {
		return worker
	}
	return worker + " on " + host
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
