package admin

import (
	"net/http"
	"slices"

	"github.com/sqluice/sqluice/jobs"
)

// jobAction is a change of one job or of many.
type jobAction struct {
	Name         string // in forms
	Title        string // on buttons
	Done         string // in messages: "retried"
	Irreversible bool   // the user must confirm it
	from         []jobs.Status
	one, many    func(*Handler, *http.Request) (answer, error) // the routes of the API that do it
}

func jobActions() []jobAction {
	return []jobAction{
		{"retry", "Retry", "retried", false, retryable(), (*Handler).retryJob, (*Handler).retryMany},
		{"cancel", "Cancel", "cancelled", false, cancellable(), (*Handler).cancelJob, (*Handler).cancelMany},
		{"delete", "Delete", "deleted", true, deletable(), (*Handler).deleteJob, (*Handler).deleteMany},
	}
}

// jobActionsFor returns the actions for jobs with a status, or all actions if the status is empty.
func jobActionsFor(s jobs.Status) []jobAction {
	return slices.DeleteFunc(jobActions(), func(c jobAction) bool { return s != "" && !slices.Contains(c.from, s) })
}
