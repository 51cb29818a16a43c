package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sqluice/sqluice/internal/newjob"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// The bounds of a list of jobs.
const (
	maxListedField = 4 << 10 // bytes of a field
	maxPageBytes   = 1 << 20 // bytes of all jobs of a page
)

// maxEnqueued is the maximum number of jobs that one request adds.
const maxEnqueued = 1000

// job is a job in an answer.
type job struct {
	jobs.Job
	Omitted []string `json:"omitted,omitempty"` // the names of fields that are too large for a list
}

// listedJob returns a job without the fields that are too large for a list.
func listedJob(j jobs.Job) job {
	s := job{Job: j}
	for _, field := range []struct {
		name  string
		value *json.RawMessage
	}{{"payload", &s.Payload}, {"metadata", &s.Metadata}, {"progress", &s.Progress}, {"result", &s.Result}} {
		if len(*field.value) > maxListedField {
			*field.value = nil
			s.Omitted = append(s.Omitted, field.name)
		}
	}
	return s
}

type jobList struct {
	Jobs []job `json:"jobs"`
	Next int64 `json:"next,omitempty"` // the parameter after of the next page; 0 if this is the last one
}

func (h *Handler) listJobs(r *http.Request) (answer, error) {
	for _, key := range []struct {
		name string
		get  func(ctx context.Context, kind, key string) (jobs.Job, error)
	}{{"unique_key", h.client.GetByUniqueKey}, {"request_id", h.client.GetByRequestID}} {
		if q := queryOf(r, "kind", key.name); q.values.Has(key.name) {
			return lookUp(r.Context(), q, key.name, key.get)
		}
	}
	q := queryOf(r, "status", "kind", "queue", "user_id", "tag", "q", "after", "limit")
	limit := q.limit()
	filter := inspect.Filter{
		Status: jobs.Status(q.text("status")), Kind: q.text("kind"), Queue: q.text("queue"), UserID: q.text("user_id"),
		Tag: q.text("tag"), Text: q.text("q"), After: q.cursor("after"),
	}
	if q.fault != nil {
		return answer{}, q.fault
	}
	list := jobList{Jobs: []job{}}
	bytes, enough := 0, errors.New("enough for one page")
	next, err := h.eachJob(r.Context(), filter, limit, func(_ context.Context, j jobs.Job) error {
		s := listedJob(j)
		if bytes += s.bytes(); bytes > maxPageBytes && len(list.Jobs) > 0 {
			list.Next = list.Jobs[len(list.Jobs)-1].ID
			return enough
		}
		list.Jobs = append(list.Jobs, s)
		return nil
	})
	if errors.Is(err, enough) {
		return answer{body: list}, nil
	}
	list.Next = next
	return answer{body: list}, err
}

// lookUp answers with a list: the job of a kind that holds a unique key, or no job.
func lookUp(ctx context.Context, q *parameters, field string, get func(ctx context.Context, kind, key string) (jobs.Job, error)) (answer, error) {
	if err := jobs.ValidateName("kind", q.text("kind")); err != nil {
		q.fail(err)
	}
	if q.text(field) == "" {
		q.fail(&jobs.InvalidError{Field: field, Must: "not be empty"})
	}
	if q.fault != nil {
		return answer{}, q.fault
	}
	found, err := get(ctx, q.text("kind"), q.text(field))
	switch {
	case errors.Is(err, jobs.ErrNotFound):
		return answer{body: jobList{Jobs: []job{}}}, nil
	case err != nil:
		return answer{}, err
	}
	return answer{body: jobList{Jobs: []job{listedJob(found)}}}, nil
}

// bytes returns the approximate size of the job in an answer.
func (j job) bytes() int {
	n := len(j.Payload) + len(j.Metadata) + len(j.Progress) + len(j.Result) + len(j.LastError) + len(j.Kind) + len(j.Queue) +
		len(j.UniqueKey) + len(j.RequestID) + len(j.UserID)
	for _, tag := range j.Tags {
		n += len(tag)
	}
	return n
}

// eachJob calls fn for at most limit jobs that a filter selects, newest first. It returns the cursor of the next page, or 0 after the last
// job. It may call fn for fewer jobs and still return a cursor: see [inspect.Inspector.ListPage].
func (h *Handler) eachJob(ctx context.Context, f inspect.Filter, limit int, fn func(context.Context, jobs.Job) error) (next int64, err error) {
	f.Limit = limit
	page, err := h.inspector.ListPage(ctx, f)
	if err != nil {
		return 0, err
	}
	for _, j := range page.Jobs {
		if err := fn(ctx, j); err != nil {
			return 0, err
		}
	}
	return page.Next, nil
}

// detail is a job with its attempts.
type detail struct {
	jobs.Job
	Errors   []inspect.AttemptEnd   `json:"errors"`
	Others   []inspect.AttemptEnd   `json:"other_attempts,omitempty"`
	Gaps     []inspect.AttemptRange `json:"unrecorded_attempts,omitempty"`
	Last     *inspect.Attempt       `json:"last_attempt,omitempty"`  // the running attempt, or the one that ended the job
	Next     int64                  `json:"attempts_next,omitempty"` // the parameter attempts_after for earlier attempts; 0 without earlier ones
	ends     []inspect.AttemptEnd   // the errors and the other attempts, in order
	isLatest bool                   // the page has the latest attempts
}

// attemptsPerPage is the maximum number of failed attempts in an answer: each has an error and a stack.
const attemptsPerPage = 50

func (h *Handler) getJob(r *http.Request) (answer, error) {
	q := queryOf(r, "attempts_after")
	after := q.cursor("attempts_after")
	id, err := jobID(r, func(*http.Request) error { return q.fault })
	if err != nil {
		return answer{}, err
	}
	return h.detail(r.Context(), id, after)
}

func (h *Handler) detail(ctx context.Context, id, after int64) (answer, error) {
	j, err := h.client.Get(ctx, id)
	if err != nil {
		return answer{}, err
	}
	d := detail{Job: j}
	page, err := h.inspector.Attempts(ctx, id, after, attemptsPerPage)
	if err != nil {
		return answer{}, err
	}
	d.Errors, d.Others, d.Gaps, d.Next, d.ends, d.isLatest = page.Failed, page.Others, page.Unrecorded, page.Next, page.Ends(), after == 0
	if d.Last, err = h.inspector.LastAttempt(ctx, j); err != nil {
		return answer{}, err
	}
	return answer{body: d}, nil
}

func (h *Handler) why(r *http.Request) (answer, error) {
	id, err := jobID(r, noQuery)
	if err != nil {
		return answer{}, err
	}
	diagnosis, err := h.inspector.Why(r.Context(), id)
	return answer{body: diagnosis}, err
}

// enqueue adds one job.
func (h *Handler) enqueue(r *http.Request) (answer, error) {
	var q newjob.Job
	if err := decode(r, &q); err != nil {
		return answer{}, err
	}
	opts, err := q.Options()
	if err != nil {
		return answer{}, err
	}
	added, err := h.client.Enqueue(r.Context(), q.Kind, q.Args(), opts...)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: http.StatusCreated, body: newjob.Receipt(added), location: fmt.Sprint("/jobs/", added.ID)}
	if added.Existed || added.Dropped {
		a.status = http.StatusOK
	}
	if added.Dropped {
		a.location = ""
	}
	return a, nil
}

// enqueueManyRequest is the body of an enqueue of several jobs: see [newjob.Job].
type enqueueManyRequest struct {
	Jobs []json.RawMessage `json:"jobs"`
}

// enqueueMany adds jobs of any kinds, all of them or none.
func (h *Handler) enqueueMany(r *http.Request) (answer, error) {
	var q enqueueManyRequest
	if err := decode(r, &q); err != nil {
		return answer{}, err
	}
	if n := len(q.Jobs); n == 0 || n > maxEnqueued {
		return answer{}, &jobs.InvalidError{Field: "jobs", Value: fmt.Sprint(n), Must: fmt.Sprintf("be 1 to %d", maxEnqueued)}
	}
	items := make([]jobs.Item, len(q.Jobs))
	for i, text := range q.Jobs {
		var err error
		if items[i], err = newjob.Item(text); err != nil {
			return answer{}, fmt.Errorf("item %d: %w", i, err)
		}
	}
	receipts, err := h.client.EnqueueItems(r.Context(), items)
	if err != nil {
		return answer{}, err
	}
	return answer{body: enqueued{newjob.Receipts(receipts)}}, nil
}

// enqueued is the answer to an enqueue of several jobs, with the results in their order.
type enqueued struct {
	Jobs []newjob.Receipt `json:"jobs"`
}

// updateRequest is the body of an update. It changes only the fields that are set.
type updateRequest struct {
	Payload     json.RawMessage `json:"payload"`
	Queue       *string         `json:"queue"`
	Priority    *int            `json:"priority"`
	RunAfter    *time.Time      `json:"run_after"`
	Delay       *time.Duration  `json:"delay_ns"`
	MaxAttempts *int            `json:"max_attempts"`
}

// options returns the options for the fields that are set. now is the time of the queue's clock.
func (q updateRequest) options(now time.Time) (opts []jobs.UpdateOption, err error) {
	switch {
	case q.RunAfter != nil && q.Delay != nil:
		return nil, &jobs.InvalidError{Field: "delay_ns", Must: "not be given together with run_after"}
	case q.Delay != nil && *q.Delay < 0:
		return nil, &jobs.InvalidError{Field: "delay_ns", Value: fmt.Sprint(int64(*q.Delay)), Must: "not be negative"}
	case q.Delay != nil:
		due := now.Add(*q.Delay)
		q.RunAfter = &due
	}
	if q.Payload != nil {
		opts = append(opts, jobs.SetPayload(q.Payload))
	}
	opts = newjob.With(opts, q.Queue, jobs.SetQueue)
	opts = newjob.With(opts, q.Priority, jobs.SetPriority)
	opts = newjob.With(opts, q.RunAfter, jobs.SetRunAfter)
	opts = newjob.With(opts, q.MaxAttempts, jobs.SetMaxAttempts)
	if len(opts) == 0 {
		return nil, &jobs.InvalidError{Field: "body", Must: "say what to change"}
	}
	return opts, nil
}

// updateJob changes a scheduled or pending job.
func (h *Handler) updateJob(r *http.Request) (answer, error) {
	var q updateRequest
	id, err := jobID(r, func(r *http.Request) error { return decode(r, &q) })
	if err != nil {
		return answer{}, err
	}
	opts, err := q.options(h.inspector.Now())
	if err != nil {
		return answer{}, err
	}
	return h.changed(r, id, h.client.Update(r.Context(), id, opts...))
}

// onJob changes the job of the request's path, and answers with the changed job.
func (h *Handler) onJob(r *http.Request, act func(context.Context, int64, ...jobs.ChangeOption) error) (answer, error) {
	id, err := jobID(r, refuseBody)
	if err != nil {
		return answer{}, err
	}
	return h.changed(r, id, act(r.Context(), id))
}

// changed answers a change of a job: with err, or with the changed job if err is nil.
func (h *Handler) changed(r *http.Request, id int64, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	a, err := h.detail(r.Context(), id, 0)
	if err != nil {
		// An error would make the client repeat the change.
		h.logError(r, "reading a changed job failed", err)
		return answer{status: http.StatusNoContent}, nil
	}
	return a, nil
}

func (h *Handler) retryJob(r *http.Request) (answer, error) { return h.onJob(r, h.client.Retry) }

func (h *Handler) cancelJob(r *http.Request) (answer, error) { return h.onJob(r, h.cancel) }

// cancel cancels a waiting job, or asks the worker of a running job to stop it.
func (h *Handler) cancel(ctx context.Context, id int64, opts ...jobs.ChangeOption) error {
	_, err := h.client.Cancel(ctx, id, opts...)
	return err
}

func (h *Handler) deleteJob(r *http.Request) (answer, error) {
	id, err := jobID(r, refuseBody)
	if err == nil {
		err = h.client.Delete(r.Context(), id)
	}
	return answer{status: http.StatusNoContent}, err
}
