package runner

import (
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
)

// returnOverdue returns to the queue what has waited for a slot for too long: another worker may have one that is free. It
// runs again while jobs wait.
func (x *executor) returnOverdue() {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	var oldest time.Time
	for _, q := range x.queues {
		x.unclaim(q.prefetch.overdue(now.Add(-prefetchFor)))
		if len(q.prefetch.jobs) > 0 {
			oldest = core.Earlier(oldest, q.prefetch.jobs[0].claimed)
		}
	}
	x.returnTimer = nil
	if !oldest.IsZero() {
		x.returnOverdueIn(oldest.Add(prefetchFor).Sub(now))
	}
}

// returnOverdueIn has returnOverdue run after d, unless it is to run anyway. Callers hold mu.
func (x *executor) returnOverdueIn(d time.Duration) {
	if x.returnTimer == nil {
		x.returnTimer = time.AfterFunc(d, x.returnOverdue)
	}
}

// pausePrefetch keeps queues from prefetching for a while.
func (x *executor) pausePrefetch(queues map[string]bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for queue := range queues {
		x.queues[queue].prefetch.paused = prefetchPause
	}
}

// closeQueues gives back all that wait for a slot; what is claimed from now on does not wait for any.
func (x *executor) closeQueues() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closing = true
	x.returnPrefetched()
}

// returnPrefetched gives back all that wait for a slot. Callers hold mu.
func (x *executor) returnPrefetched() {
	for _, q := range x.queues {
		x.unclaim(q.prefetch.remove(len(q.prefetch.jobs)))
	}
}

// unclaim settles attempts that were not begun. Callers hold mu.
func (x *executor) unclaim(list []*Attempt) {
	for _, a := range list {
		x.queues[a.job.Queue].drop(a)
		x.settle(a, lifecycle.End{Job: &a.job, Fate: lifecycle.FateReturn}, 0)
		a.cancel(nil)
	}
	if len(list) > 0 {
		x.log.Debug("jobs that waited for a slot are given back", "jobs", len(list))
		x.signal()
	}
}
