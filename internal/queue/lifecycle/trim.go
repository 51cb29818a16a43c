package lifecycle

import (
	"context"

	"github.com/sqluice/sqluice/db"
)

// KeptAttempts is the number of a job's latest attempts whose rows are kept in any case. Rows of earlier attempts are kept if they
// failed. A job may be snoozed any number of times.
const KeptAttempts = 100

// trimEvery makes every tenth attempt of a job remove old rows: each removal may read the rows of all failed attempts.
const trimEvery = 10

// trims reports whether the end of an attempt removes old rows.
func trims(attempt int64) bool { return attempt > KeptAttempts && attempt%trimEvery == 0 }

// trim removes the rows of a job's attempts that are too old and did not fail.
func (f *finisher) trim(ctx context.Context, e *End) error {
	attempt := int64(e.Job.Attempt)
	if !trims(attempt) {
		return nil
	}
	return f.q.TrimJobAttempts(ctx, db.TrimJobAttemptsParams{JobID: e.Job.ID, Last: attempt - KeptAttempts})
}

// trimReturned does so for all jobs of a worker that returns some of them, once for each worker.
func (f *finisher) trimReturned(ctx context.Context, groups []Group) error {
	trimmed := map[int64]bool{}
	for _, g := range groups {
		worker := g.Completion.WorkerID
		if !trims(g.Completion.Attempt) || trimmed[worker] {
			continue
		}
		if err := trimHeld(ctx, f.q, worker); err != nil {
			return err
		}
		trimmed[worker] = true
	}
	return nil
}

// trimHeld does so for all jobs that a worker holds.
func trimHeld(ctx context.Context, q db.Querier, worker int64) error {
	return q.TrimHeldAttempts(ctx, db.TrimHeldAttemptsParams{WorkerID: worker, Kept: KeptAttempts})
}
