package lifecycle

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Sequence holds the jobs that decide which job of a limit key starts next, where they run in order; 0 for none.
type Sequence struct {
	Failed int64 // the first failed job that holds the key, if failed ones do
	First  int64 // the first job that has not started
	status jobtype.Status
	queue  string

	holds bool // failed jobs hold those behind them
}

// HeldBy returns the failed job that holds the sequence; 0 if none does: a failed job holds those behind it.
func (s Sequence) HeldBy() int64 {
	if !s.holds || s.First != 0 && s.First < s.Failed {
		return 0
	}
	return s.Failed
}

// Scheduled returns the first job if it is scheduled, so that the waiting ones wait for it; 0 otherwise.
func (s Sequence) Scheduled() int64 {
	if s.status != jobtype.StatusScheduled {
		return 0
	}
	return s.First
}

// StartsFrom returns the job of a queue that may start, unless another one of the key runs; 0 if none may: a failed job holds it, or the
// first one is scheduled or in another queue.
func (s Sequence) StartsFrom(queue string) int64 {
	if s.HeldBy() != 0 || s.Scheduled() != 0 || s.queue != queue {
		return 0
	}
	return s.First
}

// ReadSequences returns the sequences of those of the limits that order their jobs, by kind and limit key.
func ReadSequences(ctx context.Context, q db.Querier, limits []db.ReadLimitsRow) (map[[2]string]Sequence, error) {
	var keys [][2]string
	holds := map[[2]string]bool{}
	for _, l := range limits {
		if of := [2]string{l.Kind, l.LimitKey}; l.Ordered != "" {
			keys, holds[of] = append(keys, of), l.Ordered == string(jobtype.OnFailHold)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	rows, err := q.ReadSequences(ctx, jsonKeys(keys))
	if err != nil {
		return nil, fmt.Errorf("read the sequences of limit keys: %w", err)
	}
	list := make(map[[2]string]Sequence, len(rows))
	for _, r := range rows {
		of := [2]string{r.Kind, r.LimitKey}
		list[of] = Sequence{r.FailedID, r.FirstID, jobtype.Status(r.Status), r.Queue, holds[of]}
	}
	return list, nil
}

// failedBefore is the last error of a job that was cancelled because one before it in its sequence has failed.
const failedBefore = "a job before it in its sequence has failed"

// cancelSequences is the reaction that cancels the jobs of a limit key that have not started, when one has failed for good and the limit says so.
func cancelSequences(ctx context.Context, q db.Querier, now int64, t *Transitions, made []repeated) error {
	var keys [][2]string
	for _, m := range made {
		if m.Job.Limit.has && m.To == jobtype.StatusFailed && m.From != m.To {
			keys = append(keys, [2]string{m.Job.Kind, m.Job.Limit.key})
		}
	}
	if len(keys) == 0 {
		return nil
	}
	limits, err := q.ReadLimits(ctx, jsonKeys(keys))
	if err != nil {
		return fmt.Errorf("read limits: %w", err)
	}
	for _, l := range limits {
		if l.Ordered != string(jobtype.OnFailCancel) {
			continue
		}
		if err := cancelSequence(ctx, q, now, t, [2]string{l.Kind, l.LimitKey}); err != nil {
			return fmt.Errorf("cancel the jobs behind a failed one: %w", err)
		}
	}
	return nil
}

// cancelSequence cancels the jobs of a key that have not started.
func cancelSequence(ctx context.Context, q db.Querier, now int64, t *Transitions, of [2]string) error {
	rows, err := q.CancelSequenceJobs(ctx, db.CancelSequenceJobsParams{Now: now, Message: failedBefore, Kind: of[0], LimitKey: of[1]})
	for _, job := range rows {
		t.end(Ref{Queue: job.Queue, Kind: job.Kind, UniqueKey: core.Deref(job.UniqueKey), Limit: limitRef{of[1], true}}, StatusWaiting, jobtype.StatusCancelled)
	}
	return err
}
