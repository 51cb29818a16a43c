package jobs

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/stats"
)

// CompleteTx ends the handler's job well inside the caller's transaction: the handler's own writes and the end of the
// job are committed together or not at all. result may be nil. The handler then commits and returns nil; if it
// returns an error, or the transaction is rolled back, the job's fate is decided as if CompleteTx had not been called.
// The error is [ErrLeaseLost] when another worker has taken the job: roll back.
func CompleteTx(ctx context.Context, tx Tx, job Job, result any) error {
	if job.held == nil {
		return errNotHeld("complete", job.ID)
	}
	params := db.CompleteJobParams{
		Now: core.Micros(job.held.session.store.Now()), ID: job.ID, Attempt: int64(job.Attempt), WorkerID: job.WorkerID,
	}
	if result != nil {
		data, err := core.Encode("result", result)
		if err != nil {
			return fmt.Errorf("complete job %d: %w", job.ID, err)
		}
		params.ResultJson = &data
	}
	q, err := job.held.session.store.Join(tx)
	if err != nil {
		return fmt.Errorf("complete job %d: %w", job.ID, err)
	}
	n, err := q.CompleteJob(ctx, params)
	if err != nil {
		return fmt.Errorf("complete job %d: %w", job.ID, err)
	}
	if n == 0 {
		job.held.cancel(ErrLeaseLost)
		return fmt.Errorf("complete job %d: %w", job.ID, ErrLeaseLost)
	}
	done := stats.Changes{}
	done.Ended(job.Queue, job.Kind, StatusDone, 1)
	if err := done.Write(ctx, q, params.Now); err != nil {
		return fmt.Errorf("complete job %d: note it: %w", job.ID, err)
	}
	job.held.session.mu.Lock()
	defer job.held.session.mu.Unlock()
	job.held.completed = true
	return nil
}

// SetProgress notes how far the attempt has come, as any value that encodes to JSON; others see it at once. The error
// is [ErrLeaseLost] when another worker has taken the job. It is an error outside a handler.
func (j Job) SetProgress(ctx context.Context, v any) error {
	if j.held == nil {
		return errNotHeld("set the progress of", j.ID)
	}
	data, err := core.Encode("progress", v)
	if err != nil {
		return fmt.Errorf("job %d: %w", j.ID, err)
	}
	store := j.held.session.store
	var n int64
	err = store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		n, err = q.SetJobProgress(ctx, db.SetJobProgressParams{
			ProgressJson: data, Now: core.Micros(store.Now()), ID: j.ID, Attempt: int64(j.Attempt), WorkerID: j.WorkerID,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("set the progress of job %d: %w", j.ID, err)
	}
	if n == 0 {
		j.held.cancel(ErrLeaseLost)
		return fmt.Errorf("set the progress of job %d: %w", j.ID, ErrLeaseLost)
	}
	return nil
}
