package engine

import "time"

// Backoff makes a late producer look and claim less often, where many producers wait for the same lock. One goroutine uses it.
type Backoff interface {
	FoundNothing()   // a look found nothing
	ClaimedNothing() // another worker was faster
	Claimed()        // a claim returned jobs

	// QuietUntil returns the time until which the producer ignores notifications; the zero time means that it heeds them.
	QuietUntil() time.Time

	// PauseBeforeClaim returns the pause before a claim, once after each look that found a job; the producer then looks again.
	PauseBeforeClaim() time.Duration
}

// NoBackoff is the back-off of an engine where workers do not wait for one lock.
type NoBackoff struct{}

func (NoBackoff) FoundNothing()                   {}
func (NoBackoff) ClaimedNothing()                 {}
func (NoBackoff) Claimed()                        {}
func (NoBackoff) QuietUntil() time.Time           { return time.Time{} }
func (NoBackoff) PauseBeforeClaim() time.Duration { return 0 }
