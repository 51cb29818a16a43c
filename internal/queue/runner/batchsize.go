package runner

import "time"

const (
	// holdGoal is about how long a cycle's claim, and the outcomes of as many jobs, should take where one transaction writes
	// at a time. Others wait for SQLite's write lock for five seconds: this is little enough for a dozen busy workers.
	holdGoal = 100 * time.Millisecond

	// batchLeast is the least that holdGoal lets a cycle claim. batchSlots is what a cycle may claim at first, and always
	// where there are as many slots.
	batchLeast = 10
	batchSlots = 100
)

// batchSize is how many jobs of one queue a cycle claims at most.
type batchSize int

// firstBatchSize is that of the first cycle, and where transactions do not wait for each other of all. A cycle's time says
// little there: with a server that is far away it is that of the way, which fewer jobs do not shorten.
func firstBatchSize(writesAlone bool) batchSize {
	if writesAlone {
		return batchSlots
	}
	return ClaimMost
}

// of returns the batch of a queue with so many slots.
func (b batchSize) of(slots int) int {
	return max(int(b), min(slots, batchSlots))
}

// learn shrinks the batch after a cycle that took too long for so many rows, and grows it after quick ones. A quick
// cycle with few rows says nothing of one with many: a worker that had little to do would else forget how slow the machine is.
func (b batchSize) learn(rows int, held time.Duration) batchSize {
	most := int(b)
	switch {
	case held > holdGoal:
		most = int(float64(min(most, rows)) * float64(holdGoal) / float64(held))
	case held < holdGoal/2 && rows >= most/2:
		most *= 2
	}
	return batchSize(min(max(most, batchLeast), ClaimMost))
}
