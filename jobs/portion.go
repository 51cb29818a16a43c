package jobs

import "time"

const (
	// holdGoal is about how long a turn's claim, and the outcomes of as many jobs, should take where one transaction writes
	// at a time. Others wait for SQLite's write lock for five seconds: this is little enough for a dozen busy workers.
	holdGoal = 100 * time.Millisecond

	// portionLeast is the least that holdGoal lets a turn claim. portionSlots is what a turn may claim at first, and always
	// where there are as many slots.
	portionLeast = 10
	portionSlots = 100
)

// portion is how many jobs of one queue a turn claims at most.
type portion int

// firstPortion is that of the first turn, and where transactions do not wait for each other of all. A turn's time says
// little there: with a server that is far away it is that of the way, which fewer jobs do not shorten.
func firstPortion(writesAlone bool) portion {
	if writesAlone {
		return portionSlots
	}
	return claimMost
}

// of is the portion of a queue with so many slots.
func (p portion) of(slots int) int {
	return max(int(p), min(slots, portionSlots))
}

// learn makes portions smaller after a turn that took too long for so many rows, and larger again after quick ones. A quick
// turn with few rows says nothing of one with many: a worker that had little to do would else forget how slow the machine is.
func (p portion) learn(rows int, held time.Duration) portion {
	most := int(p)
	switch {
	case held > holdGoal:
		most = int(float64(min(most, rows)) * float64(holdGoal) / float64(held))
	case held < holdGoal/2 && rows >= most/2:
		most *= 2
	}
	return portion(min(max(most, portionLeast), claimMost))
}
