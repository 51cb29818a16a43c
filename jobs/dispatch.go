package jobs

import (
	"cmp"
	"slices"
	"time"
)

// dispatch starts the handlers of claimed jobs, best first, as far as there are slots.
func (s *session) dispatch(claimed []*attempt) {
	if len(claimed) == 0 {
		return
	}
	slices.SortFunc(claimed, better)
	now := time.Now()
	starting := claimed[:0]
	var lost []outcome
	s.mu.Lock()
	for _, a := range claimed {
		if old := s.running[a.fence()]; old != nil {
			// A statement of plain SQL lowered the attempt number, so two attempts share a fence: the older handler has lost its
			// lease.
			old.cancel(ErrLeaseLost)
			if o := (outcome{attempt: old, fate: fateLost}); s.settle(old, o, now.Sub(old.claimed)) {
				lost = append(lost, o)
			}
		}
		a.claim(now)
		s.running[a.fence()] = a
		if !s.lanes[a.job.Queue].add(a) {
			s.giveBackIn(aheadFor)
			continue
		}
		starting = append(starting, a)
	}
	if s.closing {
		s.returnAhead()
	}
	s.mu.Unlock()
	for _, a := range starting {
		s.start(a)
	}
	for _, o := range lost {
		tellFinished(s.observer, o, fateLost)
	}
}

// better is the order in which jobs are run.
func better(a, b *attempt) int {
	return cmp.Or(
		cmp.Compare(b.job.Priority, a.job.Priority),
		a.job.RunAfter.Compare(b.job.RunAfter),
		cmp.Compare(a.job.ID, b.job.ID),
	)
}
