package jobs

import (
	"cmp"
	"time"
)

const (
	// holdGoal is how long a turn's statements should take at most. They hold SQLite's write lock, and others wait for it
	// for five seconds: this is little enough for a dozen busy workers to take their turns.
	holdGoal = 100 * time.Millisecond

	// portionLeast is the least that holdGoal lets a turn claim. portionSlots is what a turn may claim at first, and always
	// where there are as many slots: statements that take long because the server is far away do not get shorter with
	// fewer jobs.
	portionLeast = 10
	portionSlots = 100
)

// portion is how many jobs of one queue a turn claims at most. The zero value is that of a worker that has
// made no turn yet.
type portion int

// of is the portion of a queue with so many slots.
func (p portion) of(slots int) int {
	return max(int(cmp.Or(p, portionSlots)), min(slots, portionSlots))
}

// learn makes portions smaller after a turn that took too long for so many rows, and larger again after quick ones. A quick
// turn with few rows says nothing of one with many: a worker that had little to do would else forget how slow the machine is.
func (p portion) learn(rows int, held time.Duration) portion {
	most := p.of(0)
	switch {
	case held > holdGoal:
		most = int(float64(min(most, rows)) * float64(holdGoal) / float64(held))
	case held < holdGoal/2 && rows >= most/2:
		most *= 2
	}
	return portion(min(max(most, portionLeast), claimMost))
}
