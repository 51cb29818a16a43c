package inspect

import (
	"context"
	"errors"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// AttemptEnd is an attempt that did not end well, or that was snoozed, released or cancelled.
type AttemptEnd struct {
	Attempt   int        `json:"attempt"` // 0 for a job that expired before it was claimed
	Cause     jobs.Cause `json:"cause"`
	Message   string     `json:"message"`
	Stack     string     `json:"stack,omitempty"`
	Worker    string     `json:"worker,omitempty"`    // empty if the worker's row was pruned
	Host      string     `json:"host,omitempty"`      // the host of the worker
	StartedAt time.Time  `json:"started_at,omitzero"` // zero if the job was released or put off before it started
	EndedAt   time.Time  `json:"ended_at"`
}

// Attempt is one attempt of a job, as its row holds it.
type Attempt struct {
	Attempt   int       `json:"attempt"`
	Worker    string    `json:"worker,omitempty"` // empty if the worker's row was pruned
	Host      string    `json:"host,omitempty"`   // the host of the worker
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"` // zero while it runs
}

// LastAttempt returns the attempt that runs, or the one in which a job ended, with its worker; nil if the job waits or ended
// without running. [Inspector.Attempts] returns earlier attempts.
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
	return core.Result(a, err, "read the worker of job %d", job.ID)
}
