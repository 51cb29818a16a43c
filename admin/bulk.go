package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/sqluice/sqluice/jobs"
)

// bulkWithin is how long one request of a bulk change goes on: its answer says how far it came.
const bulkWithin = answerWithin / 2

// mostBulk is how many jobs one request looks at.
const mostBulk = 1000

// bulkRequest is the body of a bulk change. A status has to be named, so that nobody changes everything by a slip.
type bulkRequest struct {
	Status jobs.Status `json:"status"`
	Kind   *string     `json:"kind"`
	Queue  *string     `json:"queue"`
	UserID *string     `json:"user_id"`
	Tag    *string     `json:"tag"`
	After  int64       `json:"after"`
	Limit  *int        `json:"limit"`
}

// bulkResult is how far a bulk change came.
type bulkResult struct {
	Changed int   `json:"changed"`
	Skipped int   `json:"skipped"`        // whose status did not allow it any more, or whose unique key another job holds
	Next    int64 `json:"next,omitempty"` // the after of the request that goes on, when there may be more
}

func (h *Handler) retryMany(r *http.Request) (answer, error) {
	return h.bulk(r, h.client.Retry, jobs.StatusScheduled, jobs.StatusFailed, jobs.StatusCancelled)
}

func (h *Handler) cancelMany(r *http.Request) (answer, error) {
	return h.bulk(r, h.cancel, jobs.StatusScheduled, jobs.StatusPending, jobs.StatusRunning)
}

func (h *Handler) deleteMany(r *http.Request) (answer, error) {
	return h.bulk(r, h.client.Delete, jobs.StatusScheduled, jobs.StatusPending, jobs.StatusDone, jobs.StatusFailed, jobs.StatusCancelled)
}

// bulk does something to jobs that a filter means, newest first, each in a transaction of its own.
func (h *Handler) bulk(r *http.Request, act func(context.Context, int64, ...jobs.ChangeOption) error, allowed ...jobs.Status) (answer, error) {
	q := bulkRequest{}
	if err := decode(r, &q); err != nil {
		return answer{}, err
	}
	limit, err := q.check(allowed)
	if err != nil {
		return answer{}, err
	}
	filter := jobs.Filter{Status: q.Status, After: q.After}
	for _, f := range []struct {
		name string
		from *string
		to   *string
	}{{"kind", q.Kind, &filter.Kind}, {"queue", q.Queue, &filter.Queue}, {"user_id", q.UserID, &filter.UserID}, {"tag", q.Tag, &filter.Tag}} {
		switch {
		case f.from == nil:
		case *f.from == "": // would be no filter at all
			return answer{}, &jobs.InvalidError{Field: f.name, Must: "not be empty; leave it out for all"}
		default:
			*f.to = *f.from
		}
	}
	var result bulkResult
	last, enough := q.After, errors.New("enough for one request")
	until := h.now().Add(bulkWithin)
	next, err := h.each(r.Context(), filter, limit, func(ctx context.Context, j jobs.Job) error {
		// One is done in any case, however long it took to find it: else no request would ever get on.
		if result.Changed+result.Skipped > 0 && h.now().After(until) {
			return enough
		}
		err := act(ctx, j.ID, jobs.OnlyIf(q.Status)) // it may have been changed since it was listed
		switch {
		case err == nil:
			result.Changed++
		case errors.Is(err, jobs.ErrNotFound), errors.Is(err, jobs.ErrStatus), errors.Is(err, jobs.ErrUniqueTaken):
			result.Skipped++
		default:
			return err
		}
		last = j.ID
		return nil
	})
	result.Next = next
	if err != nil && (errors.Is(err, enough) || result.Changed > 0) {
		// What is done is done and has to be told; the next request meets the fault again.
		if !errors.Is(err, enough) {
			h.note(r, "a bulk change was broken off", err)
		}
		result.Next, err = last, nil
	}
	return answer{body: result}, err
}

// check returns how many jobs a request is for.
func (q bulkRequest) check(allowed []jobs.Status) (int, error) {
	if !slices.Contains(allowed, q.Status) {
		return 0, &jobs.InvalidError{Field: "status", Value: fmt.Sprintf("%q", q.Status), Must: fmt.Sprintf("be one of %q", allowed)}
	}
	if q.After < 0 {
		return 0, &jobs.InvalidError{Field: "after", Value: fmt.Sprint(q.After), Must: "be the next of the answer before"}
	}
	limit := mostBulk
	if q.Limit != nil {
		limit = *q.Limit
	}
	if limit < 1 || limit > mostBulk {
		return 0, &jobs.InvalidError{Field: "limit", Value: fmt.Sprint(limit), Must: fmt.Sprintf("be from 1 to %d", mostBulk)}
	}
	return limit, nil
}
