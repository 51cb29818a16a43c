package admin

import (
	"net/http"
	"slices"

	"github.com/sqluice/sqluice/jobs"
)

// deed is something that can be done to a job, or to many.
type deed struct {
	Name      string // in forms
	Title     string // on buttons
	Done      string // what has been done then
	Asks      bool   // whether it is really meant, since nothing undoes it
	from      []jobs.Status
	one, many func(*Handler, *http.Request) (answer, error) // the routes of the API that do it
}

func changes() []deed {
	return []deed{
		{"retry", "Retry", "retried", false, retryable(), (*Handler).retryJob, (*Handler).retryMany},
		{"cancel", "Cancel", "cancelled", false, cancellable(), (*Handler).cancelJob, (*Handler).cancelMany},
		{"delete", "Delete", "deleted", true, deletable(), (*Handler).deleteJob, (*Handler).deleteMany},
	}
}

// changesOf are what can be done to jobs with a status, or at all when it is empty.
func changesOf(s jobs.Status) []deed {
	return slices.DeleteFunc(changes(), func(c deed) bool { return s != "" && !slices.Contains(c.from, s) })
}
