package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// MaxPage is how many rows one call to a List method returns at the most.
const MaxPage = 1000

const defaultPage = 100

// Get returns one job, or an error that is [ErrNotFound]. What the job's kind marks as sensitive is redacted, as it is in all
// jobs that a client shows: see [Kind.Sensitive] and [Client.Revealed].
func (c *Client) Get(ctx context.Context, id int64) (Job, error) {
	var job Job
	err := c.read(ctx, func(ctx context.Context, q db.Querier) error {
		row, err := q.GetJob(ctx, id)
		if err != nil {
			return err
		}
		one := []Job{jobFromRow(row)}
		err = c.hide(ctx, q, one)
		job = one[0]
		return err
	})
	if err != nil {
		return Job{}, fmt.Errorf("get job %d: %w", id, notFound(err))
	}
	return job, nil
}

// validateFilter takes an empty text for no filter, and refuses what no job has: PostgreSQL takes no such parameter.
func validateFilter(field, text string, most int) error {
	if text == "" {
		return nil
	}
	return core.CheckText(field, text, most)
}

func page(limit int) (int64, error) {
	if limit == 0 {
		return defaultPage, nil
	}
	if limit < 1 || limit > MaxPage {
		return 0, jobtype.NewInvalidError("limit", fmt.Sprint(limit), fmt.Sprintf("be from 1 to %d", MaxPage))
	}
	return int64(limit), nil
}

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
	var all []AttemptError
	for before := int64(0); ; {
		list, next, err := c.LatestErrors(ctx, id, before, MaxPage)
		if err != nil {
			return nil, err
		}
		all = append(list, all...)
		if next == 0 {
			return all, nil
		}
		before = next
	}
}

// LatestErrors returns the core.Latest attempts of a job that did not end well, in order, and at most so many; none for an
// unknown id. next is the before of the call that returns those before them, 0 when there are none; that of the first is 0.
func (c *Client) LatestErrors(ctx context.Context, id, before int64, limit int) (list []AttemptError, next int64, err error) {
	params := db.ListJobErrorsParams{JobID: id, BeforeID: before}
	if params.N, err = page(limit); err != nil {
		return nil, 0, fmt.Errorf("list errors of job %d: %w", id, err)
	}
	if before < 0 {
		return nil, 0, fmt.Errorf("list errors of job %d: %w", id, jobtype.NewInvalidError("cursor", fmt.Sprint(before), "not be negative"))
	}
	if before == 0 {
		params.BeforeID = math.MaxInt64
	}
	var rows []db.ListJobErrorsRow
	err = c.read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		rows, err = q.ListJobErrors(ctx, params)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list errors of job %d: %w", id, err)
	}
	if len(rows) > 0 && int64(len(rows)) == params.N {
		next = rows[len(rows)-1].ID
	}
	slices.Reverse(rows)
	list = make([]AttemptError, len(rows))
	for i, r := range rows {
		list[i] = AttemptError{
			Attempt: int(r.Attempt), Cause: Cause(r.Cause), Message: r.Message, Stack: r.Stack, Worker: r.Worker,
			StartedAt: core.Time(r.StartedAt), EndedAt: core.Time(r.EndedAt),
		}
	}
	return list, next, nil
}

func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}
