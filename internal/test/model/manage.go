package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// cancel ends a waiting job and requests the end of a running one.
func (q *queue) cancel(id int64) (jobs.Status, error) {
	j := q.job(id)
	switch {
	case j == nil:
		return "", jobs.ErrNotFound
	case j.Status == jobs.StatusRunning:
		if j.CancelRequested.IsZero() {
			j.CancelRequested, j.UpdatedAt = q.now, q.now
		}
		return jobs.StatusRunning, nil
	case j.live():
		q.end(j, jobs.StatusCancelled)
		return jobs.StatusCancelled, nil
	default:
		return "", jobs.ErrStatus
	}
}

// retry makes a job due now with all its attempts again.
func (q *queue) retry(id int64) error {
	j := q.job(id)
	switch {
	case j == nil:
		return jobs.ErrNotFound
	case j.Status != jobs.StatusFailed && j.Status != jobs.StatusCancelled && j.Status != jobs.StatusScheduled, j.isForgotten():
		return jobs.ErrStatus
	}
	holder, successor := q.liveWith(keyOf{j.Kind, j.UniqueKey})
	if holder != j && (holder != nil || successor != nil && successor != j) {
		return jobs.ErrUniqueTaken
	}
	if j.Status != jobs.StatusScheduled {
		j.StartBy = time.Time{}
	}
	q.again(j, jobs.StatusPending)
	j.Successor = false
	j.RunAfter, j.Uncounted, j.Crashes = q.now, j.Attempt, 0
	j.FinishedAt, j.CancelRequested, j.Progress, j.Result = time.Time{}, time.Time{}, nil, nil
	return nil
}

// retryFailed retries the jobs of a filter, the latest first, and skips those whose unique key is taken.
func (q *queue) retryFailed(f inspect.FailedFilter) int64 {
	var n int64
	for _, j := range q.failed(f) {
		if q.retry(j.ID) == nil {
			n++
		}
	}
	return n
}

// failed returns the failed jobs of a filter, the latest first.
func (q *queue) failed(f inspect.FailedFilter) []*job {
	list := q.having(func(j *job) bool {
		return j.Status == jobs.StatusFailed && !j.FinishedAt.Before(micros(f.Since)) && (f.Kind == "" || j.Kind == f.Kind)
	})
	slices.SortFunc(list, func(a, b *job) int {
		return cmp.Or(b.FinishedAt.Compare(a.FinishedAt), cmp.Compare(b.ID, a.ID))
	})
	return list
}

// delete removes a job that does not run.
func (q *queue) delete(id int64) error {
	j := q.job(id)
	switch {
	case j == nil:
		return jobs.ErrNotFound
	case j.Status == jobs.StatusRunning:
		return jobs.ErrStatus
	}
	q.drop(j)
	return nil
}

// prune removes the jobs of a final status that ended longer ago than age.
func (q *queue) prune(status jobs.Status, age time.Duration) (int64, error) {
	if !status.Final() || age < 0 {
		return 0, errInvalid
	}
	return q.remove(func(j *job) bool {
		return j.Status == status && j.FinishedAt.Before(micros(q.now.Add(-age.Truncate(time.Microsecond))))
	}), nil
}
