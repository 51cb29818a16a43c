package runner

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// slots holds the slots of a run's queues and the jobs that wait for one. The ledger's mutex guards its maps and numbers.
type slots struct {
	env    *env
	ledger *ledger

	queues        map[string]*queueSlots // also removed queues, while their jobs are here
	formerCrashes int                    // the number of jobs here that were running when a process died before
	returns       *time.Timer            // calls returnOverdue; nil when no job waits
	handingOver   bool                   // a handover is under way
}

// reset sets the queues at the beginning of a run.
func (s *slots) reset(totals map[string]int) {
	s.ledger.do(func() {
		for name, total := range totals {
			s.queues[name] = s.newQueue(total)
		}
	})
}

func (s *slots) newQueue(total int) *queueSlots {
	return &queueSlots{total: total, formerCrashes: &s.formerCrashes, prefetch: prefetch{most: s.env.config.Prefetch, bytes: s.env.store.Claims().PrefetchBytes()}}
}

// set sets the number of slots of a queue; 0 removes it. The running jobs of a removed queue go on, and its jobs that wait for a
// slot are given back. set returns the attempts that have got a slot, for the caller to start.
func (s *slots) set(name string, total int) (starting []*Attempt) {
	s.env.log.Debug("the slots of a queue are changed", "queue", name, "slots", total)
	s.ledger.do(func() {
		q := s.queues[name]
		if q == nil {
			q = s.newQueue(0)
			s.queues[name] = q
		}
		q.total = total
		if total == 0 {
			s.unclaim(q.prefetch.removeFirst(len(q.prefetch.jobs)))
		}
		now := time.Now()
		for a := q.nextWaiting(now); a != nil; a = q.nextWaiting(now) {
			starting = append(starting, a)
		}
	})
	s.ledger.signal()
	return starting
}

// removeEmpty removes the queues that were removed and whose jobs have ended.
func (s *slots) removeEmpty() {
	s.ledger.do(func() {
		maps.DeleteFunc(s.queues, func(_ string, q *queueSlots) bool { return q.isRemoved() })
	})
}

// freeOf returns the number of slots of a queue without a job.
func (s *slots) freeOf(queue string) (n int) {
	s.ledger.do(func() { n = s.queues[queue].free() })
	return n
}

// admit adds claimed jobs, and returns those that have got a slot. It also returns the attempts whose lease was lost because of them.
func (s *slots) admit(claimed []*Attempt) (starting, lost []*Attempt) {
	now := time.Now()
	starting = claimed[:0]
	s.ledger.do(func() {
		for _, a := range claimed {
			if old := s.ledger.running[a.fence()]; old != nil {
				// A statement of plain SQL lowered the attempt number, so two attempts share a fence: the older handler has lost its
				// lease.
				old.cancel(jobtype.ErrLeaseLost)
				if s.ledger.addEnd(old, lifecycle.End{Job: &old.job, Fate: lifecycle.FateLost}, now.Sub(old.claimed)) {
					lost = append(lost, old)
				}
			}
			a.openContext(now, s.ledger.cancelled())
			s.ledger.running[a.fence()] = a
			if q := s.queues[a.job.Queue]; !q.accept(a) {
				if s.returnOverdueIn(prefetchFor); q.total == 0 { // the queue was removed after the claim had begun
					s.unclaim(q.prefetch.removeFirst(len(q.prefetch.jobs)))
				}
				continue
			}
			starting = append(starting, a)
		}
		if s.ledger.life.phase != phaseWorking {
			s.returnPrefetched()
		}
	})
	return starting, lost
}

// better compares attempts by the order in which jobs start.
func better(a, b *Attempt) int {
	return cmp.Or(
		cmp.Compare(b.job.Priority, a.job.Priority),
		a.job.RunAfter.Compare(b.job.RunAfter),
		cmp.Compare(a.job.ID, b.job.ID),
	)
}

// stuck returns the error for handlers that had not returned when the run stopped; nil when all have.
func (s *slots) stuck() error {
	n := 0
	s.ledger.do(func() {
		for _, q := range s.queues {
			n += q.active
		}
	})
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d handlers did not return after their context was cancelled", n)
}

// close gives back all jobs that wait for a slot. Later claims do not wait for any.
func (s *slots) close() {
	s.ledger.do(func() {
		s.ledger.life.phase = max(s.ledger.life.phase, phaseStopping)
		s.returnPrefetched()
	})
}

// pausePrefetch keeps queues from prefetching for a while.
func (s *slots) pausePrefetch(queues map[string]bool) {
	s.ledger.do(func() {
		for queue := range queues {
			s.queues[queue].prefetch.paused = prefetchPause
		}
	})
}

// returnOverdue gives back the jobs that have waited for a slot for too long: another worker may have a free one. It runs again while
// jobs wait.
func (s *slots) returnOverdue() {
	s.ledger.do(func() {
		now := time.Now()
		var oldest time.Time
		for _, q := range s.queues {
			s.unclaim(q.prefetch.removeOverdue(now.Add(-prefetchFor)))
			if len(q.prefetch.jobs) > 0 {
				oldest = core.Earlier(oldest, q.prefetch.jobs[0].claimed)
			}
		}
		s.returns = nil
		if !oldest.IsZero() {
			s.returnOverdueIn(oldest.Add(prefetchFor).Sub(now))
		}
	})
}

// returnOverdueIn calls returnOverdue after d, unless a call is planned already. Callers hold mu.
func (s *slots) returnOverdueIn(d time.Duration) {
	if s.returns == nil {
		s.returns = time.AfterFunc(d, s.returnOverdue)
	}
}

// returnPrefetched gives back all jobs that wait for a slot. Callers hold mu.
func (s *slots) returnPrefetched() {
	for _, q := range s.queues {
		s.unclaim(q.prefetch.removeFirst(len(q.prefetch.jobs)))
	}
}

// unclaim settles attempts that have not begun. Callers hold mu.
func (s *slots) unclaim(list []*Attempt) {
	for _, a := range list {
		s.queues[a.job.Queue].drop(a)
		s.ledger.addEnd(a, lifecycle.End{Job: &a.job, Fate: lifecycle.FateReturn}, 0)
		a.cancel(nil)
	}
	if len(list) > 0 {
		s.env.log.Debug("jobs that waited for a slot are given back", "jobs", len(list))
		s.ledger.signal()
	}
}

// queueSlots holds the slots of one queue, and the jobs that wait for one. The ledger's mutex guards it. While a job waits, no slot
// is free.
type queueSlots struct {
	total         int
	active        int  // the number of handlers that have not returned
	reserved      int  // the number of slots for jobs that are being handed over
	formerCrashes *int // the number for all queues
	prefetch      prefetch
	handover      handoverPause
}

// handoverPause is the time for which a queue that declined a handed-over job is not asked again.
type handoverPause struct {
	declined int // the number of times in a row
	until    time.Time
}

// isRemoved reports whether the queue has no slots any more, and none of its jobs is left here.
func (s *queueSlots) isRemoved() bool {
	return s.total == 0 && s.active == 0 && s.reserved == 0 && len(s.prefetch.jobs) == 0
}

// free returns the number of slots without a job.
func (s *queueSlots) free() int { return max(0, s.total-s.active-s.reserved) }

// wants returns the number of further jobs that the queue takes when a cycle takes this long. A cycle that records no end only fills free
// slots: no job has just made place for another one, and a claim within the free slots may take one round trip.
func (s *queueSlots) wants(cycle time.Duration, ends bool) int {
	if !ends {
		return s.free()
	}
	waiting := s.prefetch.capacity(s.total, s.active == s.total, s.reserved > 0, cycle)
	return max(0, s.total+waiting-s.active-s.reserved-len(s.prefetch.jobs))
}

// accept adds a claimed job. It returns false when the job waits for a slot.
func (s *queueSlots) accept(a *Attempt) (begun bool) {
	if a.job.Crashes > 0 {
		*s.formerCrashes++
	}
	if a.reserved {
		s.reserved--
	}
	if s.free() == 0 {
		s.prefetch.jobs = append(s.prefetch.jobs, a)
		return false
	}
	s.occupy(a)
	return true
}

// drop stops counting a job that has ended or was given back.
func (s *queueSlots) drop(a *Attempt) {
	if a.job.Crashes > 0 {
		*s.formerCrashes--
	}
}

// nextWaiting gives a slot to the next job that waits for one. It returns nil when no slot is free or no job waits.
func (s *queueSlots) nextWaiting(now time.Time) *Attempt {
	for s.free() > 0 {
		a := s.prefetch.pop()
		if a == nil {
			return nil
		}
		if !a.over {
			s.prefetch.late = max(s.prefetch.late, now.Sub(a.claimed))
			s.occupy(a)
			return a
		}
		s.drop(a)
		a.cancel(nil)
	}
	return nil
}

func (s *queueSlots) occupy(a *Attempt) {
	s.active++
	a.begun = true
}

// vacate takes a slot back from a job whose handler has returned.
func (s *queueSlots) vacate(a *Attempt, took time.Duration) {
	s.active--
	s.drop(a)
	s.prefetch.average(took, a.job.Kind, len(a.job.Payload))
}
