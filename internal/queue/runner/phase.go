package runner

import "slices"

// phase is the stage of a run. It never goes back.
type phase int

const (
	phaseWorking   phase = iota // jobs are claimed
	phaseStopping               // no job waits for a slot
	phaseCancelled              // the contexts of all handlers have ended
)

// life holds the phase of a run and the errors that end it. The ledger's mutex guards it.
type life struct {
	phase  phase
	cause  error // the cause of the ended contexts in phaseCancelled
	fatal  error // ends the run
	schema error // a SchemaError, which stops the run
}

// activity is the state of the loop, for attempts that end meanwhile and for handovers.
type activity int

const (
	working   activity = iota
	gathering          // waiting for more ends
	resting            // waiting for a notification
)

// cycles numbers the transactions that may have claimed jobs whose handlers have not begun. The ledger's mutex guards it.
type cycles struct {
	begun uint64   // the number of the newest cycle
	open  []uint64 // the numbers of the cycles that have not ended, in order
}

// openCycle returns the number of a new cycle.
func (c *cycles) openCycle() uint64 {
	c.begun++
	c.open = append(c.open, c.begun)
	return c.begun
}

// closeCycle removes a cycle whose handlers have begun, or that has none.
func (c *cycles) closeCycle(number uint64) {
	c.open = slices.DeleteFunc(c.open, func(n uint64) bool { return n == number })
}
