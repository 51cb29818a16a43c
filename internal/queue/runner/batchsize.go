package runner

import "time"

const (
	// holdGoal is about how long a cycle's claim, and the outcomes of as many jobs, should take where one transaction writes
	// at a time. Others wait for SQLite's write lock for five seconds: this is little enough for a dozen busy workers.
	holdGoal = 100 * time.Millisecond

	// batchLeast is the least that holdGoal lets a cycle claim. batchSlots is what the first cycle may claim, and each where
	// there are as many slots.
	batchLeast = 10
	batchSlots = 100
)

// batchSize is how many jobs of one queue a cycle claims at most.
type batchSize int

// writeTime is the step that bounds for how long a cycle keeps other writers waiting.
func writeTime() step {
	return step{narrow: func(l *loop, queue string, n int) int { return min(n, l.batch.of(l.slots.queues[queue].total)) }}
}

// of returns the batch of a queue with that number of slots.
func (b batchSize) of(slots int) int {
	return max(int(b), min(slots, batchSlots))
}

// learn shrinks the batch after a cycle that kept other writers waiting too long for so many rows, and grows it after quick ones.
// (Where others can write meanwhile, held is 0: a cycle's time is mostly that of the way to the server.) A quick cycle with few
// rows says nothing of one with many: a worker that had little to do would else forget how slow the machine is.
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
