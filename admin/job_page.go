package admin

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// jobView is all that is known of a job.
type jobView struct {
	detail
	Why     []jobs.Finding // it does not run
	Worker  string         // that runs it
	Changes []deed
}

func (h *Handler) jobPage(r *http.Request) (view, error) {
	a, err := h.getJob(r)
	if err != nil {
		return view{}, err
	}
	v := jobView{detail: a.body.(detail)}
	v.Changes = changesOf(v.Status)
	diagnosis, err := h.client.Why(r.Context(), v.ID)
	if err != nil {
		return view{}, err
	}
	if diagnosis.Status == v.Status { // else it has gone on since it was read
		v.Why = slices.DeleteFunc(diagnosis.Findings, func(f jobs.Finding) bool { return f.Reason == jobs.ReasonEnded }) // which the page says
	}
	if v.Status == jobs.StatusRunning {
		workers, err := h.client.Workers(r.Context())
		if err != nil {
			return view{}, err
		}
		if i := slices.IndexFunc(workers, func(w jobs.WorkerInfo) bool { return w.ID == v.WorkerID }); i >= 0 {
			v.Worker = workers[i].Name
		}
	}
	return view{"job", v.Kind, v}, nil
}

// moment is a point in the life of a job.
type moment struct {
	At    time.Time
	What  string
	Sort  string // what colour it has
	Error *jobs.AttemptError
	Note  string
}

// Timeline is the life of the job, in order.
func (v jobView) Timeline() []moment {
	list := []moment{{At: v.CreatedAt, What: "Enqueued", Sort: "created"}}
	if due := v.RunAfter; due.Sub(v.CreatedAt) >= time.Millisecond && v.Status != jobs.StatusScheduled {
		list = append(list, moment{At: due, What: "Due", Sort: "due"})
	}
	for i := range v.Errors {
		e := &v.Errors[i]
		list = append(list, moment{At: e.EndedAt, What: "Attempt " + number(e.Attempt), Sort: "failed", Error: e})
	}
	if !v.CancelRequested.IsZero() {
		list = append(list, moment{At: v.CancelRequested, What: "Asked to stop", Sort: "cancelled"})
	}
	switch v.Status {
	case jobs.StatusScheduled:
		list = append(list, moment{At: v.RunAfter, What: "Runs again", Sort: "scheduled"})
		if v.Attempt == 0 {
			list[len(list)-1].What = "Falls due"
		}
	case jobs.StatusPending:
		list = append(list, moment{At: later(v.RunAfter, v.UpdatedAt), What: "Waits for a worker", Sort: "pending"})
	case jobs.StatusRunning:
		list = append(list, moment{At: v.StartedAt, What: "Attempt " + number(v.Attempt) + " runs", Sort: "running", Note: v.Worker})
	case jobs.StatusDone:
		list = append(list,
			moment{At: v.StartedAt, What: "Attempt " + number(v.Attempt), Sort: "running"},
			moment{At: v.FinishedAt, What: "Done", Sort: "done", Note: "in " + span(v.FinishedAt.Sub(v.StartedAt))})
	case jobs.StatusFailed:
		list = append(list, moment{At: v.FinishedAt, What: "Failed for good", Sort: "failed"})
	case jobs.StatusCancelled:
		list = append(list, moment{At: v.FinishedAt, What: "Cancelled", Sort: "cancelled"})
	}
	list = slices.DeleteFunc(list, func(m moment) bool { return m.At.IsZero() })
	slices.SortStableFunc(list, func(a, b moment) int { return cmp.Compare(a.At.UnixMicro(), b.At.UnixMicro()) })
	return list
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
