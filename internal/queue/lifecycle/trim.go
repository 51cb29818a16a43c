package lifecycle

import (
	"context"

	"github.com/sqluice/sqluice/db"
)

// KeptAttempts is how many of a job's latest attempts keep their rows in any case. Earlier attempts keep them if they failed. A job may be
// snoozed any number of times.
const KeptAttempts = 100

// trimEvery is in which attempts of a job the rows of earlier ones are removed: each statement may read the rows of all that failed.
const trimEvery = 10

// trim removes the rows of a job's attempts that are too old and did not fail.
func (f *finisher) trim(ctx context.Context, e *End) error {
	attempt := int64(e.Job.Attempt)
	if attempt <= KeptAttempts || attempt%trimEvery != 0 {
		return nil
	}
	return f.q.TrimJobAttempts(ctx, db.TrimJobAttemptsParams{JobID: e.Job.ID, Last: attempt - KeptAttempts})
}

// trimHeld does the same for all jobs that a worker holds.
func trimHeld(ctx context.Context, q db.Querier, worker int64) error {
	return q.TrimHeldAttempts(ctx, db.TrimHeldAttemptsParams{WorkerID: worker, Kept: KeptAttempts})
}
