package inspect

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// AttemptError is an attempt that did not end well.
type AttemptError struct {
	Attempt   int        `json:"attempt"`
	Cause     jobs.Cause `json:"cause"`
	Message   string     `json:"message"`
	Stack     string     `json:"stack,omitempty"`
	Worker    string     `json:"worker,omitempty"`
	StartedAt time.Time  `json:"started_at,omitzero"`
	EndedAt   time.Time  `json:"ended_at"`
}

// Errors returns the attempts of a job that did not end well, in order; none for an unknown id.
func (in *Inspector) Errors(ctx context.Context, id int64) ([]AttemptError, error) {
	var all []AttemptError
	for before := int64(0); ; {
		list, next, err := in.LatestErrors(ctx, id, before, MaxPage)
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

// LatestErrors returns the latest attempts of a job that did not end well, in order, and at most limit of them; none for an
// unknown id. before is 0 for the first call. next is the before of the call that returns the attempts before these, and 0
// when there are none.
func (in *Inspector) LatestErrors(ctx context.Context, id, before int64, limit int) (list []AttemptError, next int64, err error) {
	params := db.ListJobErrorsParams{JobID: id, BeforeID: before}
	if params.N, err = pageSize(limit); err == nil {
		err = checkCursor("cursor", before)
	}
	if before == 0 {
		params.BeforeID = math.MaxInt64
	}
	var rows []db.ListJobErrorsRow
	if err == nil {
		err = in.scope.Read(ctx, func(ctx context.Context, q db.Querier) error {
			var err error
			rows, err = q.ListJobErrors(ctx, params)
			return err
		})
	}
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
			Attempt: int(r.Attempt), Cause: jobs.Cause(r.Cause), Message: r.Message, Stack: r.Stack, Worker: r.Worker,
			StartedAt: core.Time(r.StartedAt), EndedAt: core.Time(r.EndedAt),
		}
	}
	return list, next, nil
}
