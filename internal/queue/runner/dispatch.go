package runner

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// dispatch starts the handlers of claimed jobs, best first, as far as there are slots.
func (x *executor) dispatch(claimed []*Attempt) {
	if len(claimed) == 0 {
		return
	}
	slices.SortFunc(claimed, better)
	now := time.Now()
	starting := claimed[:0]
	var lost []*Attempt
	x.mu.Lock()
	for _, a := range claimed {
		if old := x.running[a.fence()]; old != nil {
			// A statement of plain SQL lowered the attempt number, so two attempts share a fence: the older handler has lost its
			// lease.
			old.cancel(jobtype.ErrLeaseLost)
			if x.settle(old, lifecycle.End{Job: &old.job, Fate: lifecycle.FateLost}, now.Sub(old.claimed)) {
				lost = append(lost, old)
			}
		}
		a.claim(now)
		x.running[a.fence()] = a
		if q := x.queues[a.job.Queue]; !q.add(a) {
			if x.returnOverdueIn(prefetchFor); q.total == 0 { // the queue was removed after the claim had begun
				x.unclaim(q.prefetch.remove(len(q.prefetch.jobs)))
			}
			continue
		}
		starting = append(starting, a)
	}
	if x.closing {
		x.returnPrefetched()
	}
	x.mu.Unlock()
	for _, a := range starting {
		x.start(a)
	}
	for _, a := range lost {
		tellFinished(x.observer, a, lifecycle.FateLost)
	}
}

// better is the order in which jobs are run.
func better(a, b *Attempt) int {
	return cmp.Or(
		cmp.Compare(b.job.Priority, a.job.Priority),
		a.job.RunAfter.Compare(b.job.RunAfter),
		cmp.Compare(a.job.ID, b.job.ID),
	)
}
