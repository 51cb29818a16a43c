package inspect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs"
)

// AttemptEnd is an attempt that did not end well, or that was snoozed, released or cancelled.
type AttemptEnd struct {
	Attempt   int        `json:"attempt"` // 0 for the end of a job that was never claimed
	Cause     jobs.Cause `json:"cause"`
	Message   string     `json:"message"`
	Stack     string     `json:"stack,omitempty"`
	Worker    string     `json:"worker,omitempty"`
	Host      string     `json:"host,omitempty"`      // of the worker
	StartedAt time.Time  `json:"started_at,omitzero"` // zero for an attempt that was not begun
	EndedAt   time.Time  `json:"ended_at"`
}

// Attempt is one attempt of a job as the job's row has it.
type Attempt struct {
	Attempt   int       `json:"attempt"`
	Worker    string    `json:"worker,omitempty"` // empty if the worker's row was pruned
	Host      string    `json:"host,omitempty"`   // of the worker
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"` // zero while it runs
}

// LastAttempt returns the attempt that runs, or the one in which a job ended, and its worker; nil if the job waits or ended without
// running. [Inspector.Attempts] has those before it.
func (in *Inspector) LastAttempt(ctx context.Context, job jobs.Job) (*Attempt, error) {
	if job.WorkerID == 0 || job.Attempt == 0 {
		return nil, nil
	}
	a := &Attempt{Attempt: job.Attempt, StartedAt: job.StartedAt, EndedAt: job.FinishedAt}
	err := in.scope.Read(ctx, func(ctx context.Context, q db.Querier) error {
		row, err := q.GetWorkerName(ctx, job.WorkerID)
		a.Worker, a.Host = row.Name, row.Host
		return err
	})
	if errors.Is(core.NotFound(err), jobs.ErrNotFound) {
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the worker of job %d: %w", job.ID, err)
	}
	return a, nil
}

// AttemptRange is attempts of a job that follow each other.
type AttemptRange struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// Unrecorded returns the attempts of a job, from first to last, that are none of ends, which are in order. If they have ended, nothing is
// recorded of them: they did not fail, and were followed by more than [KeptAttempts] others.
func Unrecorded(first, last int, ends []AttemptEnd) []AttemptRange {
	var list []AttemptRange
	for _, e := range ends {
		if e.Attempt > first {
			list = append(list, AttemptRange{first, min(e.Attempt-1, last)})
		}
		if first = max(first, e.Attempt+1); first > last {
			return list
		}
	}
	if first <= last {
		list = append(list, AttemptRange{first, last})
	}
	return list
}

// Errors returns the attempts of a job that did not end well, in order; none for an unknown id.
func (in *Inspector) Errors(ctx context.Context, id int64) ([]AttemptEnd, error) {
	all, err := in.Attempts(ctx, id)
	failed, _ := ByOutcome(all)
	return failed, err
}

// ByOutcome divides attempts into those that failed and the others.
func ByOutcome(ends []AttemptEnd) (failed, others []AttemptEnd) {
	failed = []AttemptEnd{}
	for _, e := range ends {
		if e.Cause.Failed() {
			failed = append(failed, e)
		} else {
			others = append(others, e)
		}
	}
	return failed, others
}

// KeptAttempts is for how many further attempts the end of one stays recorded that did not fail. A job that looks for something again
// and again has any number of them.
const KeptAttempts = lifecycle.KeptAttempts

// Attempts returns the attempts of a job that have ended otherwise than well, in order; none for an unknown id: those of
// [Inspector.Errors], and of the latest [KeptAttempts] those that were snoozed, released or cancelled.
func (in *Inspector) Attempts(ctx context.Context, id int64) ([]AttemptEnd, error) {
	var all []AttemptEnd
	for before := int64(0); ; {
		list, next, err := in.LatestAttempts(ctx, id, before, MaxPage)
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

// LatestAttempts returns the latest of [Inspector.Attempts], in order, and at most limit of them; none for an unknown id. before is 0 for the first call. next is the before of the call that returns the attempts before these, and 0
// when there are none.
func (in *Inspector) LatestAttempts(ctx context.Context, id, before int64, limit int) (list []AttemptEnd, next int64, err error) {
	params := db.ListJobErrorsParams{JobID: id, BeforeID: before}
	if params.N, err = pageSize(limit); err == nil {
		err = checkCursor("cursor", before)
	}
	if before == 0 {
		params.BeforeID = math.MaxInt64
	}
	var rows []db.ListJobErrorsRow
	var subject db.GetJobSubjectRow
	if err == nil {
		err = in.scope.Read(ctx, func(ctx context.Context, q db.Querier) error {
			var err error
			if rows, err = q.ListJobErrors(ctx, params); err != nil || len(rows) == 0 {
				return err
			}
			subject, err = q.GetJobSubject(ctx, id)
			return core.NotFound(err)
		})
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list attempts of job %d: %w", id, err)
	}
	if len(rows) > 0 && int64(len(rows)) == params.N {
		next = rows[len(rows)-1].ID
	}
	slices.Reverse(rows)
	view := in.view()
	list = make([]AttemptEnd, len(rows))
	for i, r := range rows {
		list[i] = AttemptEnd{
			Attempt: int(r.Attempt), Cause: jobs.Cause(r.Cause), Message: view.Text(subject.Kind, cipher.Error, r.Message),
			Stack: view.Text(subject.Kind, cipher.Stack, r.Stack), Worker: r.Worker, Host: r.Host,
			StartedAt: core.Time(r.StartedAt), EndedAt: core.Time(r.EndedAt),
		}
	}
	return list, next, nil
}
