package jobs

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Job is one job as its row has it. A handler's copy has what is known at the claim: its end is not. Zero times and empty
// strings stand for columns that are not set.
type Job = jobtype.Job

// CompleteTx ends the handler's job well inside the caller's transaction: the handler's own writes and the end of the
// job are committed together or not at all. result may be nil. The handler then commits and returns nil; if it
// returns an error, or the transaction is rolled back, the job's fate is decided as if CompleteTx had not been called: so return the
// commit's error, since nil after a rollback means done, without the result.
// The error is [ErrLeaseLost] when another worker has taken the job: roll back.
func CompleteTx(ctx context.Context, tx Tx, job Job, result any) error {
	held := job.Holder()
	if held == nil {
		return jobtype.ErrNotHeld("complete", job.ID)
	}
	if err := held.CompleteTx(ctx, tx, result); err != nil {
		return fmt.Errorf("complete job %d: %w", job.ID, err)
	}
	return nil
}
