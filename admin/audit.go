package admin

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

type auditList struct {
	Entries []inspect.AuditEntry `json:"entries"`
	Next    int64                `json:"next,omitempty"` // the parameter after of the next page; 0 if this is the last one
}

func (h *Handler) audit(r *http.Request) (answer, error) {
	q := queryOf(r, "actor", "action", "job", "since", "after", "limit")
	filter := inspect.AuditFilter{
		Actor: q.text("actor"), Action: inspect.Action(q.text("action")), Job: q.job("job"), Since: q.time("since"),
		After: q.cursor("after"), Limit: q.limit(),
	}
	if q.fault != nil {
		return answer{}, q.fault
	}
	entries, err := h.inspector.Audit(r.Context(), filter)
	if err != nil {
		return answer{}, err
	}
	list := auditList{Entries: entries}
	if len(entries) == filter.Limit {
		list.Next = entries[len(entries)-1].ID
	}
	return answer{body: list}, nil
}

// job returns a job's id, or 0 if the parameter is missing.
func (p *parameters) job(name string) int64 {
	text := p.text(name)
	if text == "" {
		return 0
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		p.fail(&jobs.InvalidError{Field: name, Value: strconv.Quote(text), Must: fmt.Sprintf("be a whole number from 1 to %d", math.MaxInt64)})
	}
	return id
}

// auditView is a page of the audit log.
type auditView struct {
	auditList
	listFilter
	Actions []inspect.Action // the choices of the filter
}

func (h *Handler) auditPage(r *http.Request) (view, error) {
	a, err := h.audit(r)
	if err != nil {
		return view{}, err
	}
	v := auditView{a.body.(auditList), listFilterOf(r), inspect.Actions()}
	return view{"audit", "Audit", v}, nil
}

// Older returns the URL of the next page.
func (v auditView) Older() string { return v.With("after", strconv.FormatInt(v.Next, 10)) }

// Filtered reports whether the list has a filter.
func (v auditView) Filtered() bool {
	for name, list := range v.Filter {
		if name != "limit" && list[0] != "" {
			return true
		}
	}
	return false
}

// maxNamedJobs is the maximum number of jobs that the page lists of an entry.
const maxNamedJobs = 5

// Named returns the jobs that the page lists of an entry.
func (v auditView) Named(e inspect.AuditEntry) []int64 {
	return e.JobIDs[:min(len(e.JobIDs), maxNamedJobs)]
}

// Schedule returns the name of the schedule that an entry's detail has, or "".
func (v auditView) Schedule(e inspect.AuditEntry) string {
	var detail struct {
		Schedule string `json:"schedule"`
	}
	if err := json.Unmarshal(e.Detail, &detail); err != nil {
		return "" // another program wrote it: the page shows the whole detail
	}
	return detail.Schedule
}

// Rest returns an entry's detail without the name of the schedule, which the page shows beside it. It returns nil if nothing is left.
func (v auditView) Rest(e inspect.AuditEntry) json.RawMessage {
	if v.Schedule(e) == "" {
		return e.Detail
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(e.Detail, &fields); err != nil {
		return e.Detail
	}
	delete(fields, "schedule")
	if len(fields) == 0 {
		return nil
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return e.Detail
	}
	return rest
}
