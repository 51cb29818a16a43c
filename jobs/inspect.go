package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sqluice/sqluice/db"
)

// MaxPage is how many rows one call to a List method returns at the most.
const MaxPage = 1000

// Get returns one job, or an error that is [ErrNotFound].
func (c *Client) Get(ctx context.Context, id int64) (Job, error) {
	var job Job
	err := c.read(ctx, func(ctx context.Context, q db.Querier) error {
		row, err := q.GetJob(ctx, id)
		job = jobFromRow(row)
		return err
	})
	if err != nil {
		return Job{}, fmt.Errorf("get job %d: %w", id, notFound(err))
	}
	return job, nil
}

// Filter says which jobs List returns. Zero values do not filter.
type Filter struct {
	Status Status
	Kind   string
	Queue  string
	UserID string
	Tag    string
	After  int64 // jobs enqueued before the one with this id: the last id of the page before
	Limit  int   // 100 when 0; at most MaxPage
}

// List returns jobs, newest first.
func (c *Client) List(ctx context.Context, f Filter) ([]Job, error) {
	params := db.ListJobsParams{
		BeforeID: f.After, Status: optional(string(f.Status)), Kind: optional(f.Kind), Queue: optional(f.Queue),
		UserID: optional(f.UserID), Tag: optional(f.Tag),
	}
	var err error
	if params.N, err = page(f.Limit); err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	if f.Status != "" {
		if _, err := ParseStatus(string(f.Status)); err != nil {
			return nil, fmt.Errorf("list jobs: %w", err)
		}
	}
	for _, name := range []struct {
		field, value string
		most         int
	}{{"kind", f.Kind, MaxNameLength}, {"queue", f.Queue, MaxNameLength}, {"user id", f.UserID, MaxKeyLength}, {"tag", f.Tag, MaxNameLength}} {
		if err := validateFilter(name.field, name.value, name.most); err != nil {
			return nil, fmt.Errorf("list jobs: %w", err)
		}
	}
	if f.After < 0 {
		return nil, fmt.Errorf("list jobs: %w", invalid("cursor", fmt.Sprint(f.After), "not be negative"))
	}
	if f.After == 0 {
		params.BeforeID = math.MaxInt64
	}
	return c.list(ctx, "list jobs", func(ctx context.Context, q db.Querier) ([]db.Job, error) { return q.ListJobs(ctx, params) })
}

// validateFilter takes an empty text for no filter, and refuses what no job has: PostgreSQL takes no such parameter.
func validateFilter(field, text string, most int) error {
	if text == "" {
		return nil
	}
	return checkText(field, text, most)
}

func page(limit int) (int64, error) {
	if limit == 0 {
		return 100, nil
	}
	if limit < 1 || limit > MaxPage {
		return 0, invalid("limit", fmt.Sprint(limit), fmt.Sprintf("be from 1 to %d", MaxPage))
	}
	return int64(limit), nil
}

func (c *Client) list(ctx context.Context, what string, query func(context.Context, db.Querier) ([]db.Job, error)) ([]Job, error) {
	var rows []db.Job
	err := c.read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		rows, err = query(ctx, q)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	jobs := make([]Job, len(rows))
	for i, row := range rows {
		jobs[i] = jobFromRow(row)
	}
	return jobs, nil
}

// Cause is why an attempt did not end well.
type Cause string

const (
	CauseError   Cause = "error"   // the handler returned an error
	CausePanic   Cause = "panic"   // the handler panicked or called runtime.Goexit
	CauseTimeout Cause = "timeout" // the attempt took longer than its timeout
	CauseCrash   Cause = "crash"   // the worker's process ended
	CauseLost    Cause = "lost"    // the lease ran out although the process may live
)

// AttemptError is an attempt that did not end well.
type AttemptError struct {
	Attempt   int       `json:"attempt"`
	Cause     Cause     `json:"cause"`
	Message   string    `json:"message"`
	Stack     string    `json:"stack,omitempty"`
	Worker    string    `json:"worker,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at"`
}

// Errors returns the attempts of a job that did not end well, in order; none for an unknown id.
func (c *Client) Errors(ctx context.Context, id int64) ([]AttemptError, error) {
	var rows []db.ListJobErrorsRow
	err := c.read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		rows, err = q.ListJobErrors(ctx, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list errors of job %d: %w", id, err)
	}
	list := make([]AttemptError, len(rows))
	for i, r := range rows {
		list[i] = AttemptError{
			Attempt: int(r.Attempt), Cause: Cause(r.Cause), Message: r.Message, Stack: r.Stack, Worker: r.Worker,
			StartedAt: fromMicros(r.StartedAt), EndedAt: fromMicros(r.EndedAt),
		}
	}
	return list, nil
}

// FailedGroup is a line of the failed-job report: the jobs of one kind that failed with one error.
type FailedGroup struct {
	Kind      string    `json:"kind"`
	Error     string    `json:"error"`
	Jobs      int64     `json:"jobs"`
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
	ExampleID int64     `json:"example_id"`
}

// FailedFilter says which failed jobs are meant. Zero values do not filter.
type FailedFilter struct {
	Kind  string
	Since time.Time
	Limit int // 100 when 0; at most MaxPage
}

// check returns how many rows are asked for.
func (f FailedFilter) check() (int64, error) {
	if err := validateFilter("kind", f.Kind, MaxNameLength); err != nil {
		return 0, err
	}
	return page(f.Limit)
}

// FailedReport groups the failed jobs by kind and error, the most frequent first, then the one with the latest failure.
func (c *Client) FailedReport(ctx context.Context, f FailedFilter) ([]FailedGroup, error) {
	n, err := f.check()
	if err != nil {
		return nil, fmt.Errorf("report failed jobs: %w", err)
	}
	var rows []db.ReportFailedJobsRow
	err = c.read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		rows, err = q.ReportFailedJobs(ctx, db.ReportFailedJobsParams{Since: since(f.Since), Kind: optional(f.Kind), N: n})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("report failed jobs: %w", err)
	}
	groups := make([]FailedGroup, len(rows))
	for i, r := range rows {
		groups[i] = FailedGroup{
			Kind: r.Kind, Error: r.Error, Jobs: r.Jobs, FirstSeen: fromMicros(r.FirstSeen),
			LastSeen: fromMicros(r.LastSeen), ExampleID: r.ExampleID,
		}
	}
	return groups, nil
}

// ListFailed returns failed jobs, the latest first. before is the last job of the page before; its zero value starts.
func (c *Client) ListFailed(ctx context.Context, f FailedFilter, before Job) ([]Job, error) {
	n, err := f.check()
	if err != nil {
		return nil, fmt.Errorf("list failed jobs: %w", err)
	}
	params := db.ListFailedJobsParams{
		Since: since(f.Since), BeforeTime: math.MaxInt64, BeforeID: math.MaxInt64, Kind: optional(f.Kind), N: n,
	}
	if !before.FinishedAt.IsZero() {
		params.BeforeTime, params.BeforeID = toMicros(before.FinishedAt), before.ID
	}
	return c.list(ctx, "list failed jobs", func(ctx context.Context, q db.Querier) ([]db.Job, error) { return q.ListFailedJobs(ctx, params) })
}

func since(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return toMicros(t)
}

func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}
