package admin

import (
	"net/http"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// failedView is the failed-job report.
type failedView struct {
	inspect.FailedReport
	All  int64 // the number of failed jobs
	More bool  // there may be more groups
}

func (h *Handler) failedPage(r *http.Request) (view, error) {
	if err := noQuery(r); err != nil {
		return view{}, err
	}
	report, err := h.inspector.FailedReport(r.Context(), inspect.FailedFilter{Limit: maxPageSize})
	if err != nil {
		return view{}, err
	}
	v := failedView{FailedReport: report, All: report.Jobs, More: len(report.Groups) == maxPageSize}
	if report.Older {
		counts, err := h.inspector.Counts(r.Context())
		if err != nil {
			return view{}, err
		}
		v.All = total(counts, jobs.StatusFailed, "", "")
	}
	return view{"failed", "Failed", v}, nil
}
