package runner

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

var _ jobtype.Holder = (*Attempt)(nil)

// SetResult implements jobtype.Holder.
func (a *Attempt) SetResult(v any) error {
	data, err := core.Encode("result", v)
	if err != nil {
		return fmt.Errorf("job %d: %w", a.job.ID, err)
	}
	a.env.mu.Lock()
	defer a.env.mu.Unlock()
	a.result = &data
	return nil
}

// SetProgress implements jobtype.Holder.
func (a *Attempt) SetProgress(ctx context.Context, v any) error {
	data, err := core.Encode("progress", v)
	if err == nil {
		data, err = a.env.cipher.JSON(a.job.Kind, cipher.Progress, []byte(data))
	}
	if err != nil {
		return fmt.Errorf("job %d: %w", a.job.ID, err)
	}
	store := a.env.store
	var n int64
	err = store.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		n, err = q.SetJobProgress(ctx, db.SetJobProgressParams{
			ProgressJson: data, Now: core.Micros(store.Now()), ID: a.job.ID, Attempt: int64(a.job.Attempt), WorkerID: a.job.WorkerID,
		})
		return err
	})
	if err == nil && n == 0 {
		a.cancel(jobtype.ErrLeaseLost)
		err = jobtype.ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("set the progress of job %d: %w", a.job.ID, err)
	}
	return nil
}

// CompleteTx implements jobtype.Holder.
func (a *Attempt) CompleteTx(ctx context.Context, tx jobtype.Tx, result any) error {
	params := db.CompleteJobParams{
		Now: core.Micros(a.env.store.Now()), ID: a.job.ID, Attempt: int64(a.job.Attempt), WorkerID: a.job.WorkerID,
	}
	if result != nil {
		data, err := core.Encode("result", result)
		if err == nil {
			data, err = a.env.cipher.JSON(a.job.Kind, cipher.Result, []byte(data))
		}
		if err != nil {
			return err
		}
		params.ResultJson = &data
	}
	q, err := a.env.store.Transactions().Join(tx)
	if err != nil {
		return err
	}
	made := lifecycle.NewTransitions()
	made.HoldSuccessors = true // the cycle that finds the end recorded releases them
	written, err := a.complete(ctx, q, params, made)
	if err != nil {
		return core.EndFirst(ctx, err) // a renewal may have found before that the lease is lost, and have ended ctx
	}
	if !written {
		a.cancel(jobtype.ErrLeaseLost)
		return jobtype.ErrLeaseLost
	}
	if err := made.Conclude(ctx, q, params.Now); err != nil {
		return core.EndFirst(ctx, err)
	}
	a.env.mu.Lock()
	defer a.env.mu.Unlock()
	a.completed = true
	if a.job.LimitKey != nil {
		select {
		case a.env.inTx <- struct{}{}:
		default: // a signal is pending already
		}
	}
	return nil
}

// complete records that the attempt ended well, or removes its job if the kind keeps nothing; false means that the lease was lost.
func (a *Attempt) complete(ctx context.Context, q db.Querier, params db.CompleteJobParams, made *lifecycle.Transitions) (bool, error) {
	job := lifecycle.Ref{Queue: a.job.Queue, Kind: a.job.Kind, UniqueKey: a.job.UniqueKey}
	if a.handler.Drop {
		removed, err := q.DropCompletedJobs(ctx, db.DropCompletedJobsParams{
			WorkerID: params.WorkerID, Attempt: params.Attempt, Ids: core.JSONIDs([]int64{params.ID}),
		})
		made.LeaveRunning(job, lifecycle.FateDone, lifecycle.StatusRemoved)
		return len(removed) > 0, err
	}
	n, err := q.CompleteJob(ctx, params)
	made.LeaveRunning(job, lifecycle.FateDone, jobtype.StatusDone)
	return n > 0, err
}

// Withhold implements jobtype.Holder.
func (a *Attempt) Withhold(ctx context.Context, text string) (withheld string, err error) {
	if a.env.cipher != nil {
		return jobtype.Encrypted, nil
	}
	a.env.mu.Lock()
	result := a.result
	a.env.mu.Unlock()
	err = a.env.store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		withheld, err = lifecycle.Withhold(ctx, q, &a.job, result, text)
		return err
	})
	if err != nil {
		return jobtype.Redacted, fmt.Errorf("withhold a text about job %d: %w", a.job.ID, err)
	}
	return withheld, nil
}
