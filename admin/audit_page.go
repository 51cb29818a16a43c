package admin

import (
	"net/http"
	"strconv"

	"github.com/sqluice/sqluice/jobs/inspect"
)

// auditView is a page of the audit log.
type auditView struct {
	auditList
	listFilter
	Actions []inspect.Action // to filter by
}

func (h *Handler) auditPage(r *http.Request) (view, error) {
	a, err := h.audit(r)
	if err != nil {
		return view{}, err
	}
	v := auditView{a.body.(auditList), listFilterOf(r), []inspect.Action{
		inspect.ActionEnqueue, inspect.ActionRetry, inspect.ActionCancel, inspect.ActionDelete, inspect.ActionPrune, inspect.ActionPause, inspect.ActionResume,
		inspect.ActionMark, inspect.ActionUnmark,
	}}
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

// maxNamedJobs is how many jobs of an entry are listed.
const maxNamedJobs = 5

// Named returns the jobs of an entry that are listed.
func (v auditView) Named(e inspect.AuditEntry) []int64 {
	return e.JobIDs[:min(len(e.JobIDs), maxNamedJobs)]
}
