package jobs

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/stats"
)

// largeResult is from when on a result goes by itself, in bytes.
const largeResult = 32 << 10

// record writes outcomes, inside the pump's transaction, and returns those that were refused because the lease was
// lost. Attempts that ended well go in one statement; the others, which are rarer, one by one. It notes in done what
// becomes of jobs here, and not what had become of them before.
func (s *session) record(ctx context.Context, q db.Querier, outcomes []outcome, done stats.Changes) (lost []outcome, err error) {
	if err := withhold(ctx, q, outcomes); err != nil {
		return nil, err
	}
	plain, withResult, returned := map[holder][]outcome{}, map[holder][]outcome{}, map[holder][]outcome{}
	for i, o := range outcomes {
		o.attempt.recorded = o.fate
		switch {
		case o.fate == fateReturn:
			addByHolder(returned, o, len(outcomes)-i)
		case o.fate != fateDone:
			ok, err := s.recordOne(ctx, q, o, done)
			if err != nil {
				return nil, err
			}
			if !ok {
				lost = append(lost, o)
			}
		case o.apart || o.result != nil && len(*o.result) > largeResult:
			ok, err := s.recordAlone(ctx, q, o, done)
			if err != nil {
				return nil, err
			}
			if !ok {
				lost = append(lost, o)
			}
		case o.result == nil:
			addByHolder(plain, o, len(outcomes)-i)
		default:
			addByHolder(withResult, o, len(outcomes)-i)
		}
	}
	now := core.Micros(s.store.Now())
	for h, group := range plain {
		n, err := q.CompleteJobs(ctx, db.CompleteJobsParams{Now: now, WorkerID: h.worker, Attempt: h.attempt, Ids: ids(group)})
		if err == nil {
			lost, err = s.completed(ctx, q, group, n, done, lost)
		}
		if err != nil {
			return nil, err
		}
	}
	for h, group := range withResult {
		n, err := q.CompleteJobsWithResults(ctx, db.CompleteJobsWithResultsParams{Now: now, WorkerID: h.worker, Items: fences(group)})
		if err == nil {
			lost, err = s.completed(ctx, q, group, n, done, lost)
		}
		if err != nil {
			return nil, err
		}
	}
	for h, group := range returned {
		if err := s.recordReturned(ctx, q, h, group, now, done); err != nil {
			return nil, err
		}
	}
	return lost, nil
}

// recordReturned releases jobs whose handlers were not called. Those that another worker holds now are not counted as lost.
func (s *session) recordReturned(ctx context.Context, q db.Querier, h holder, group []outcome, now int64, done stats.Changes) error {
	n, err := q.ReleaseJobs(ctx, db.ReleaseJobsParams{Now: now, WorkerID: h.worker, Attempt: h.attempt, Ids: ids(group)})
	if err != nil || n == int64(len(group)) {
		return err
	}
	for _, o := range group { // a caller may have requested the cancellation meanwhile
		n, err := q.CancelRequestedJob(ctx, db.CancelRequestedJobParams{Now: now, ID: o.attempt.job.ID, Attempt: h.attempt, WorkerID: h.worker})
		if err != nil {
			return err
		}
		if n > 0 {
			done.Ended(o.attempt.job.Queue, o.attempt.job.Kind, StatusCancelled, 1)
		}
	}
	return nil
}

// recordAlone writes the end of one attempt that ended well: a large result, which is not wrapped in JSON for a batch, and
// one that may have been recorded before, which then is not counted twice.
func (s *session) recordAlone(ctx context.Context, q db.Querier, o outcome, done stats.Changes) (bool, error) {
	n, err := q.CompleteJob(ctx, db.CompleteJobParams{
		ResultJson: o.result, Now: core.Micros(s.store.Now()), ID: o.attempt.job.ID,
		Attempt: int64(o.attempt.job.Attempt), WorkerID: o.attempt.job.WorkerID,
	})
	if err != nil {
		return false, err
	}
	if n == 0 {
		return s.ended(ctx, q, o)
	}
	noteOutcome(done, o)
	return true, nil
}

// holder is what the fences of a statement's rows have in common.
type holder struct{ worker, attempt int64 }

// addByHolder adds an outcome to its group by worker (there is more than one only after the worker was declared dead) and
// by attempt number (most are first attempts). No group becomes larger than most.
func addByHolder(groups map[holder][]outcome, o outcome, most int) {
	h := holder{o.attempt.job.WorkerID, int64(o.attempt.job.Attempt)}
	group, known := groups[h]
	if !known {
		group = make([]outcome, 0, most)
	}
	groups[h] = append(group, o)
}

// ids is the JSON list [id, ...].
func ids(outcomes []outcome) string {
	list := make([]byte, 1, 12*len(outcomes)+2)
	list[0] = '['
	for i, o := range outcomes {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, o.attempt.job.ID, 10)
	}
	return string(append(list, ']'))
}

// fences is the JSON list [[id, attempt], ...], or [[id, attempt, result], ...] when there are results.
func fences(outcomes []outcome) string {
	list := make([]byte, 1, 24*len(outcomes)+2)
	list[0] = '['
	for i, o := range outcomes {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, '[')
		list = strconv.AppendInt(list, o.attempt.job.ID, 10)
		list = append(list, ',')
		list = strconv.AppendInt(list, int64(o.attempt.job.Attempt), 10)
		if o.result != nil {
			list = append(list, ',')
			list = core.AppendString(list, *o.result)
		}
		list = append(list, ']')
	}
	return string(append(list, ']'))
}

// completed notes for the counts that n of a group were completed, and adds the others, who have lost their lease, to lost.
// None of a group may have been recorded before, so what is done by its attempt is done by the statement.
func (s *session) completed(ctx context.Context, q db.Querier, group []outcome, n int64, done stats.Changes, lost []outcome) ([]outcome, error) {
	for _, o := range group {
		ended := n == int64(len(group))
		if !ended {
			row, err := q.GetJobFence(ctx, o.attempt.job.ID)
			if err != nil && core.NotFound(err) != ErrNotFound {
				return nil, err
			}
			ended = err == nil && Status(row.Status) == StatusDone && o.isOf(row)
		}
		if ended {
			noteOutcome(done, o)
		} else {
			lost = append(lost, o)
		}
	}
	return lost, nil
}

// ended reports whether an outcome that no statement could write was recorded before. Otherwise another process has changed
// the job. It cannot recognize a change by another process that ended the job and left this attempt's fence in the row.
func (s *session) ended(ctx context.Context, q db.Querier, o outcome) (bool, error) {
	if !o.apart {
		return false, nil
	}
	row, err := q.GetJobFence(ctx, o.attempt.job.ID)
	if core.NotFound(err) == ErrNotFound {
		return false, nil
	}
	status := Status(row.Status)
	return status.Final() && (o.fate != fateDone || status == StatusDone) && o.isOf(row), err
}

// isOf reports whether a job's row has the fence of the outcome's attempt.
func (o outcome) isOf(row db.GetJobFenceRow) bool {
	return row.Attempt == int64(o.attempt.job.Attempt) && row.WorkerID == o.attempt.job.WorkerID
}

// recordOne writes an outcome that is not a plain success; false means that the lease was lost.
func (s *session) recordOne(ctx context.Context, q db.Querier, o outcome, done stats.Changes) (bool, error) {
	now := s.store.Now()
	id, attempt, worker := o.attempt.job.ID, int64(o.attempt.job.Attempt), o.attempt.job.WorkerID
	// A due time in the far future is cut to the last one that the schema takes.
	at := now.Add(o.delay)
	if at.After(core.Latest) || o.delay > 0 && at.Before(now) {
		at = core.Latest
	}
	status := string(StatusPending)
	if o.delay > 0 {
		status = string(StatusScheduled)
	}
	var n int64
	var err error
	if o.fate != fateCancel { // a caller may have requested the cancellation meanwhile
		n, err = q.CancelRequestedJob(ctx, db.CancelRequestedJobParams{
			LastError: core.Optional(o.message), Now: core.Micros(now), ID: id, Attempt: attempt, WorkerID: worker,
		})
		if err != nil {
			return false, err
		}
		if n > 0 {
			o.attempt.recorded = fateCancel
			done.Ended(o.attempt.job.Queue, o.attempt.job.Kind, StatusCancelled, 1)
			return true, s.addError(ctx, q, o, now)
		}
	}
	switch o.fate {
	case fateRetry:
		n, err = q.RetryJob(ctx, db.RetryJobParams{
			Status: status, RunAfter: core.Micros(at), LastError: o.message, Now: core.Micros(now), ID: id, Attempt: attempt, WorkerID: worker,
		})
	case fateSnooze:
		n, err = q.SnoozeJob(ctx, db.SnoozeJobParams{
			Status: status, RunAfter: core.Micros(at), Now: core.Micros(now), ID: id, Attempt: attempt, WorkerID: worker,
		})
	case fateFail:
		n, err = q.FailJob(ctx, db.FailJobParams{LastError: o.message, Now: core.Micros(now), ID: id, Attempt: attempt, WorkerID: worker})
	case fateCancel:
		n, err = q.CancelRunningJob(ctx, db.CancelRunningJobParams{
			LastError: core.Optional(o.message), Now: core.Micros(now), ID: id, Attempt: attempt, WorkerID: worker,
		})
	case fateRelease:
		n, err = q.ReleaseJob(ctx, db.ReleaseJobParams{Now: core.Micros(now), ID: id, Attempt: attempt, WorkerID: worker})
	}
	if err != nil {
		return false, err
	}
	if n == 0 {
		ended, err := s.ended(ctx, q, o)
		if ended && s.hasCompleted(o.attempt) {
			o.attempt.recorded = fateDone
		}
		return ended, err
	}
	noteOutcome(done, o)
	return true, s.addError(ctx, q, o, now)
}

func (s *session) hasCompleted(a *attempt) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.completed
}

// addError records an attempt that did not end well; being snoozed or given back is no error.
func (s *session) addError(ctx context.Context, q db.Querier, o outcome, now time.Time) error {
	if o.cause == "" {
		return nil
	}
	job := o.attempt.job
	return q.AddJobError(ctx, db.AddJobErrorParams{
		JobID: job.ID, Attempt: int64(job.Attempt), WorkerID: job.WorkerID, StartedAt: core.Micros(job.StartedAt),
		EndedAt: core.Micros(now), Cause: string(o.cause), Message: o.message, Stack: o.stack,
	})
}

// recordApart writes outcomes one by one after the database refused them together, so that one which it never takes
// (say, because of an application's own trigger) does not hold up the others. Such an outcome is given up: its lease
// runs out and the job is rescued. It returns those to be tried again.
func (s *session) recordApart(outcomes []outcome) []outcome {
	var again []outcome
	for _, o := range outcomes {
		t := &turn{session: s, outcomes: []outcome{o}}
		err := s.store.Write(s.values, t.write)
		switch {
		case err == nil:
			s.recorded(t)
			s.store.Announce(t.signals())
		case s.store.CanRetry(err):
			o.apart = o.apart || errors.Is(err, ErrUnknownOutcome)
			again = append(again, o)
		default:
			s.log.Error("the database refuses the end of an attempt: its lease will run out", append(o.attempt.attrs(), "error", err)...)
			s.mu.Lock()
			s.forget(o.attempt)
			s.refused[o.attempt.fence()] = struct{}{}
			s.mu.Unlock()
			tellFinished(s.observer, o, fateLost)
		}
	}
	return again
}
