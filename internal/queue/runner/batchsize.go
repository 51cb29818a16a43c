package runner

import "time"

const (
	// holdGoal is the approximate time that a cycle's claim, and recording the ends of as many jobs, should take where one transaction
	// writes at a time. Others wait for SQLite's write lock for five seconds: holdGoal is small enough for a dozen busy workers.
	holdGoal = 100 * time.Millisecond

	// batchLeast is the smallest batch that holdGoal leaves a cycle. Each cycle, also the first one, may claim as many jobs as
	// there are slots, up to batchSlots.
	batchLeast = 10
	batchSlots = 100
)

// batchSize is the largest number of jobs of one queue that a cycle claims.
type batchSize int

// of returns the batch of a queue with that number of slots.
func (b batchSize) of(slots int) int {
	return max(int(b), min(slots, batchSlots))
}

// adjust shrinks the batch after a cycle that kept other writers waiting too long for its number of rows, and grows it after quick
// ones. (Where others can write meanwhile, held is 0: a cycle's time is mostly that of the way to the server.) A quick cycle with
// few rows says nothing of one with many: otherwise a worker that had little to do would forget that the machine is slow.
func (b batchSize) adjust(rows int, held time.Duration) batchSize {
	most := int(b)
	switch {
	case held > holdGoal:
		most = int(float64(min(most, rows)) * float64(holdGoal) / float64(held))
	case held < holdGoal/2 && rows >= most/2:
		most *= 2
	}
	return batchSize(min(max(most, batchLeast), ClaimMost))
}
