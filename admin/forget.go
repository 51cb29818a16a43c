package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// forgetRequest is the body of a request to forget a user.
type forgetRequest struct {
	UserID string `json:"user_id"`
}

// forgotten is the answer to a request to forget a user.
type forgotten struct {
	inspect.Forgotten
	Complete bool   `json:"complete"`          // if false, the client must repeat the request: jobs have not ended, the time was over, or jobs were refused
	Refused  int    `json:"refused"`           // jobs that the database refused to change
	Refusal  string `json:"refusal,omitempty"` // the reason for the first of them
}

// forget forgets a user: see [inspect.Inspector.Forget]. The time of the request bounds the number of jobs.
func (h *Handler) forget(r *http.Request) (answer, error) {
	var q forgetRequest
	if err := decode(r, &q); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), bulkTimeout)
	defer cancel()
	done, err := h.inspector.Forget(ctx, q.UserID)
	result := forgotten{Forgotten: done, Complete: err == nil && done.Live == 0}
	if refused := (*jobs.RefusedError)(nil); errors.As(err, &refused) {
		h.logError(r, "a user is forgotten but for some jobs", err)
		result.Refused, result.Refusal, err = refused.N, refused.Error(), nil
	}
	if errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil && done.Cancelled+done.Erased+len(done.Schedules) > 0 {
		h.logError(r, "a user is forgotten in part so far", err)
		err = nil
	}
	return answer{body: result}, err
}

// forgetForm asks for a confirmation, and forgets a user.
func (h *Handler) forgetForm(_ http.ResponseWriter, r *http.Request) (*view, flash, error) {
	user := r.PostForm.Get("user_id")
	if user == "" {
		return nil, flash{}, &jobs.InvalidError{Field: "user_id", Must: "not be empty"}
	}
	if r.PostForm.Get("sure") == "" {
		page, err := h.inspector.ListPage(r.Context(), inspect.Filter{UserID: user, Limit: maxNamed})
		if err != nil {
			return nil, flash{}, err
		}
		return h.confirm(r, question{
			Text: fmt.Sprintf("Forget the user %s?", user), Button: "Forget the user", To: "/users/forget", Jobs: page.Jobs, More: page.Next != 0, Danger: true,
			Note: "Live jobs of the user are cancelled, schedules of theirs are deleted, and payloads, metadata, tags, progress, results and errors " +
				"of all their jobs are erased. It cannot be undone, and erased jobs cannot be retried. It does not reach backups, replicas, logs and " +
				"what the database keeps of old rows, such as the free pages of a file.",
		}, "user_id"), flash{}, nil
	}
	call, err := apiRequest(r, forgetRequest{user})
	if err != nil {
		return nil, flash{}, err
	}
	a, err := h.forget(call)
	if err != nil {
		return nil, flash{}, err
	}
	return nil, a.body.(forgotten).message(user), nil
}

// message returns the result as text.
func (f forgotten) message(user string) flash {
	text := fmt.Sprintf("User %s: %s cancelled, %s erased.", user, plural(f.Cancelled, "job", "jobs"), plural(f.Erased, "job", "jobs"))
	if len(f.Schedules) > 0 {
		text += fmt.Sprintf(" Deleted: %s %s.", plural(len(f.Schedules), "the schedule", "schedules"), strings.Join(f.Schedules, ", "))
	}
	if f.Refused > 0 {
		text += " Not all of them: " + f.Refusal + "."
	}
	switch {
	case f.Live > 0:
		text += fmt.Sprintf(" %s not ended: forget the user again when they have.", plural(f.Live, "job has", "jobs have"))
	case !f.Complete && f.Refused == 0:
		text += " There are more: forget the user again."
	}
	return flash{OK: f.Complete, Text: text}
}
