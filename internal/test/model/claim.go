package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// isDue reports whether a scheduled job's time has come. A successor has to wait for more than that.
func (q *queue) isDue(j *job) bool {
	return j.Status == jobs.StatusScheduled && !j.Successor && !j.RunAfter.After(q.now)
}

// promote makes up to n due jobs pending, the earliest first.
func (q *queue) promote(n int64) int64 {
	due := q.having(q.isDue)
	slices.SortStableFunc(due, func(a, b *job) int { return a.RunAfter.Compare(b.RunAfter) })
	due = due[:min(n, int64(len(due)))]
	for _, j := range due {
		j.Status, j.UpdatedAt = jobs.StatusPending, q.now
	}
	return int64(len(due))
}

// untied returns n, or the next larger number of due jobs that does not separate jobs with one due time: their order of
// promotion is undefined.
func (q *queue) untied(n int64) int64 {
	var times []time.Time
	for _, j := range q.having(q.isDue) {
		times = append(times, j.RunAfter)
	}
	slices.SortFunc(times, time.Time.Compare)
	for n > 0 && n < int64(len(times)) && times[n].Equal(times[n-1]) {
		n++
	}
	return n
}

// better compares jobs by the order in which they are claimed from a queue.
func better(a, b *job) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.RunAfter.Compare(b.RunAfter), cmp.Compare(a.ID, b.ID))
}

// isEarly reports whether a job is pending before its time, which happens when the clock is set back: no worker gets it
// until that time has come again.
func (q *queue) isEarly(j *job) bool {
	return j.Status == jobs.StatusPending && j.RunAfter.After(q.now)
}

// claim gives up to n pending jobs of some kinds to a live worker, the best first.
func (q *queue) claim(w *worker, name string, kinds []string, n int, lease time.Duration, prefetch bool) []*job {
	if w == nil || !w.endedAt.IsZero() {
		return nil
	}
	list := q.having(func(j *job) bool {
		return j.Status == jobs.StatusPending && !q.isEarly(j) && j.Queue == name && slices.Contains(kinds, j.Kind) && !q.isPaused(name, j.Kind)
	})
	slices.SortFunc(list, better)
	list = list[:min(n, len(list))]
	for _, j := range list {
		j.Status, j.WorkerID = jobs.StatusRunning, w.id
		j.Attempt++
		if j.prefetched = 0; prefetch {
			j.prefetched = j.Attempt
		}
		j.StartedAt, j.UpdatedAt, j.LeaseUntil = q.now, q.now, q.now.Add(lease)
	}
	return list
}
