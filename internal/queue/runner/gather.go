package runner

import "time"

// gatherMost is the longest time that the producer waits for more ends to record together.
const gatherMost = 5 * time.Millisecond

// gather waits for more ends when there are some and handlers still run: for at most a quarter of what the last
// cycle took. Where a commit waits for a disk, handlers that end a moment after the others would else make a cycle of
// their own necessary; where it is a matter of microseconds, so is this.
func (p *producer) gather() {
	if !p.setGathering(true) {
		return
	}
	defer p.setGathering(false)
	timer := time.NewTimer(min(p.took/4, gatherMost))
	defer timer.Stop()
	for p.mayGatherMore() {
		select {
		case <-p.changed:
		case <-timer.C:
			return
		}
	}
}

// setGathering sets whether the producer waits for more ends, so that one which others may join does not wake it. It
// returns what it set: false when on is false or when gathering is not worthwhile.
func (s *state) setGathering(on bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gathering = on && s.mayGather()
	return s.gathering
}

func (s *state) mayGatherMore() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mayGather()
}

// mayGather reports whether ends wait and others may join them. Callers hold mu.
func (s *state) mayGather() bool {
	return len(s.ended) > 0 && len(s.running) > len(s.ended) && s.fatal == nil
}
