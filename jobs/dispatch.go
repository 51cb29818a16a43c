package jobs

import (
	"cmp"
	"slices"
	"time"
)

// dispatch starts the handlers of claimed jobs, best first, as far as there are slots. It reports whether they are to go on
// before the pump.
func (s *session) dispatch(claimed []*attempt) (first bool) {
	if len(claimed) == 0 {
		return false
	}
	slices.SortFunc(claimed, better)
	now := time.Now()
	apart := claimed[:0] // those that get a goroutine each
	starting, wake := 0, false
	var lost []outcome
	s.mu.Lock()
	for _, a := range claimed {
		if old := s.running[a.fence()]; old != nil {
			// Somebody lowered the attempt number by SQL and made the fence void: the older handler is the lost one.
			old.cancel(ErrLeaseLost)
			if o := (outcome{attempt: old, fate: fateLost}); s.settle(old, o, now.Sub(old.claimed)) {
				lost = append(lost, o)
			}
		}
		a.claim(now)
		s.running[a.fence()] = a
		l := s.lanes[a.job.Queue]
		if !l.add(a) {
			s.giveBackIn(aheadFor)
			continue
		}
		starting++
		if l.short() {
			wake = s.list(a) || wake
		} else {
			apart = append(apart, a)
		}
	}
	if s.closing {
		s.returnAhead()
	}
	first = s.handlersFirst(starting)
	s.mu.Unlock()
	if wake {
		s.start(nil)
	}
	for _, a := range apart {
		s.start(a)
	}
	for _, o := range lost {
		s.observer.finished(o, fateLost)
	}
	return first
}

// handlersFirst reports whether the handlers of jobs that start now are to go on before the pump, which only looks for the jobs
// after theirs. Not so where it would have to wait for long: while other handlers run, and may use all processors, or when there
// are several that are not known to be short. Callers hold mu.
func (s *session) handlersFirst(starting int) bool {
	active, took, known := 0, time.Duration(0), true
	for _, l := range s.lanes {
		active += l.active
		took += time.Duration(l.active) * l.pace
		known = known && (l.active == 0 || l.pace > 0)
	}
	return active == starting && (starting == 1 || known && took <= gatherMost)
}

// better is the order in which jobs are run.
func better(a, b *attempt) int {
	return cmp.Or(
		cmp.Compare(b.job.Priority, a.job.Priority),
		a.job.RunAfter.Compare(b.job.RunAfter),
		cmp.Compare(a.job.ID, b.job.ID),
	)
}
