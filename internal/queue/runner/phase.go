package runner

import (
	"slices"
	"time"
)

// phase is how far a run has come. It never goes back.
type phase int

const (
	phaseWorking   phase = iota // jobs are claimed
	phaseStopping               // no job waits for a slot any more
	phaseCancelled              // the contexts of all handlers have ended
)

// life holds the phase of a run and the errors that end it. The ledger's mutex guards it.
type life struct {
	phase  phase
	cause  error // of the contexts in phaseCancelled
	fatal  error // ends the run
	schema error // a SchemaError, which stops it
}

// activity is what the loop does, for attempts that end meanwhile and for handovers.
type activity int

const (
	working   activity = iota
	gathering          // it waits for more ends
	resting            // it waits for a notification
)

// cycles numbers the transactions that may have claimed jobs whose handlers have not begun. The ledger's mutex guards it.
type cycles struct {
	begun uint64   // the number of the newest
	open  []uint64 // those that have not ended, in their order
}

// begin returns the number of a new cycle.
func (c *cycles) begin() uint64 {
	c.begun++
	c.open = append(c.open, c.begun)
	return c.begun
}

// end removes a cycle whose handlers have begun, or that has none.
func (c *cycles) end(number uint64) {
	c.open = slices.DeleteFunc(c.open, func(n uint64) bool { return n == number })
}

// gatherMost is the longest time that the loop waits for more ends to record together.
const gatherMost = 5 * time.Millisecond

// gather waits for more ends when there are some and handlers still run: for at most a quarter of what the last
// cycle took. Where a commit waits for a disk, handlers that end a moment after the others would else make a cycle of
// their own necessary; where it is a matter of microseconds, so is this.
func (l *ledger) gather(cycle time.Duration) {
	if l.setActivity(gathering) != gathering {
		return
	}
	defer l.setActivity(working)
	timer := time.NewTimer(min(cycle/4, gatherMost))
	defer timer.Stop()
	for l.setActivity(gathering) == gathering {
		select {
		case <-l.changed:
		case <-timer.C:
			return
		}
	}
}
