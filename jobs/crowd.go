package jobs

import (
	"math/rand/v2"
	"time"
)

// Where many workers share few processors and one transaction writes at a time, the news of a job wakes them all, and all but
// one come too late. Those that did lately look less often, and stand back for a moment before they claim. Each waits for a
// time of its own, by chance: of many that wait one is soon there, so that a job waits about as long as beside few.
const (
	// crowdLeast is how many workers are none: all of them look and claim at once.
	crowdLeast = 4

	// lookShare, for each worker beyond those, is how long one goes without a look that was in vain again and again.
	lookShare = 2 * time.Millisecond

	// claimShare, for each of them, is the longest time that one stands back who was too late before: about what a
	// transaction takes, so that those who wait do not come all at once.
	claimShare = time.Millisecond

	// looksFree is how many looks in vain in a row change nothing: not each commit adds a job.
	looksFree = 4
)

// calm is how long the pump leaves news alone after so many looks in vain in a row.
func (s *session) calm(vain int) time.Duration {
	return s.some(vain-looksFree, lookShare)
}

// standBack is how long the pump waits before it claims, when it came too late so many times in a row.
func (s *session) standBack(late int) time.Duration {
	return s.some(late, claimShare)
}

// some is a time by chance that grows with n, from 1 on, up to a share for each worker that makes a crowd.
func (s *session) some(n int, share time.Duration) time.Duration {
	many := s.crowd.Load() - crowdLeast
	if n <= 0 || many <= 0 || !s.store.WritesAlone() {
		return 0
	}
	return rand.N(min(time.Millisecond<<min(n, 10), time.Duration(many)*share))
}

// stands reports, once after each look that found a job, whether the pump has stood back for others: then it is to look again.
func (p *pump) stands() bool {
	if p.stood {
		p.stood = false
		return false
	}
	wait := p.standBack(p.late)
	if wait == 0 {
		return false
	}
	p.stood = true
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.settled: // the turn that records it claims as well
	}
	return true
}
