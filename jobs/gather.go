package jobs

import "time"

// gatherMost is the longest time that the pump waits for more outcomes to record together.
const gatherMost = 5 * time.Millisecond

// gather waits for more outcomes when there are some and handlers still run: for at most a quarter of what the last
// turn took. Where a commit waits for a disk, handlers that end a moment after the others would else make a turn of
// their own necessary; where it is a matter of microseconds, so is this.
func (p *pump) gather() {
	if !p.patient(true) {
		return
	}
	defer p.patient(false)
	timer := time.NewTimer(min(p.took/4, gatherMost))
	defer timer.Stop()
	for p.gathering() {
		select {
		case <-p.settled:
		case <-timer.C:
			return
		}
	}
}

// patient sets whether outcomes that others may join wake the pump. It returns whether the pump now waits for more outcomes:
// false when patient is false or when gathering is not worthwhile.
func (s *session) patient(patient bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.patience = patient && s.mayGather()
	return s.patience
}

func (s *session) gathering() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mayGather()
}

// mayGather reports whether outcomes wait and others may join them. Callers hold mu.
func (s *session) mayGather() bool {
	return len(s.outcomes) > 0 && len(s.running) > len(s.outcomes) && s.fatal == nil
}
