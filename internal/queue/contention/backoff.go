package contention

import (
	"math/rand/v2"
	"time"
)

const (
	// workersFree is the largest number of workers without back-off: all of them look and claim at once.
	workersFree = 4

	// lookShare, for each worker beyond workersFree, is the time for which a producer ignores notifications after several looks
	// in a row that found nothing.
	lookShare = 2 * time.Millisecond

	// claimShare, for each worker beyond workersFree, is the longest pause before a claim of a producer whose last claim found the
	// jobs taken: about the time of a transaction, so that the waiting producers do not all claim at once.
	claimShare = time.Millisecond

	// looksFree is the number of looks in a row without a job that cause no back-off: not each commit adds a job.
	looksFree = 4
)

// Backoff delays a producer. Where many workers share few processors and one transaction writes at a time, a notification
// wakes all of them, and all except one find the job taken. These look less often, and pause before they claim. Each pauses
// for a random time: out of many, one ends its pause soon, so a job waits about as long as beside few workers. One goroutine
// uses it.
type Backoff struct {
	workers    func() int64 // returns the number of live workers
	emptyLooks int          // looks in a row that found nothing
	lostClaims int          // claims in a row that returned nothing because others had taken the jobs
	paused     bool         // the producer has paused since the last look that found a job
	quietUntil time.Time
}

// New returns a back-off; workers returns the number of live workers.
func New(workers func() int64) *Backoff { return &Backoff{workers: workers} }

// FoundNothing records a look that found nothing.
func (b *Backoff) FoundNothing() {
	b.emptyLooks++
	if b.paused {
		b.paused = false
		b.lostClaims++
	}
	b.quietUntil = time.Now().Add(b.quietFor())
}

// ClaimedNothing records a claim that returned no job.
func (b *Backoff) ClaimedNothing() { b.lostClaims++ }

// Claimed records a claim that returned jobs.
func (b *Backoff) Claimed() { b.emptyLooks, b.lostClaims, b.paused = 0, 0, false }

// QuietUntil returns the time until which the producer ignores notifications.
func (b *Backoff) QuietUntil() time.Time { return b.quietUntil }

// PauseBeforeClaim returns the pause before a claim, once after each look that found a job; the producer then looks again.
func (b *Backoff) PauseBeforeClaim() time.Duration {
	if b.paused {
		b.paused = false
		return 0
	}
	pause := b.pauseFor()
	b.paused = pause > 0
	return pause
}

func (b *Backoff) quietFor() time.Duration { return b.random(b.emptyLooks-looksFree, lookShare) }

func (b *Backoff) pauseFor() time.Duration { return b.random(b.lostClaims, claimShare) }

// random returns a random time that grows with n, which begins at 1, and with each worker beyond workersFree up to a share for each.
func (b *Backoff) random(n int, share time.Duration) time.Duration {
	if n <= 0 {
		return 0
	}
	many := b.workers() - workersFree
	if many <= 0 {
		return 0
	}
	return rand.N(min(time.Millisecond<<min(n, 10), time.Duration(many)*share))
}
