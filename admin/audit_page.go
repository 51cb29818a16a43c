package admin

import (
	"net/http"
	"strconv"

	"github.com/sqluice/sqluice/jobs"
)

// auditView is a page of what people have changed.
type auditView struct {
	auditList
	narrowing
	Actions []jobs.Action // that can be chosen
}

func (h *Handler) auditPage(r *http.Request) (view, error) {
	a, err := h.audit(r)
	if err != nil {
		return view{}, err
	}
	v := auditView{a.body.(auditList), narrowingOf(r), []jobs.Action{
		jobs.ActionEnqueue, jobs.ActionRetry, jobs.ActionCancel, jobs.ActionDelete, jobs.ActionPrune, jobs.ActionPause, jobs.ActionResume,
		jobs.ActionMark, jobs.ActionUnmark,
	}}
	return view{"audit", "Audit", v}, nil
}

// Older leads to the next page.
func (v auditView) Older() string { return v.With("after", strconv.FormatInt(v.Next, 10)) }

// Narrowed reports whether the list is narrowed to anything.
func (v auditView) Narrowed() bool {
	for name, list := range v.Filter {
		if name != "limit" && list[0] != "" {
			return true
		}
	}
	return false
}

// mostNamed is how many jobs of a change a line names.
const mostNamed = 5

// Named are the first jobs of a change of many.
func (v auditView) Named(e jobs.AuditEntry) []int64 { return e.JobIDs[:min(len(e.JobIDs), mostNamed)] }
