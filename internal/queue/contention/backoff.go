package contention

import (
	"math/rand/v2"
	"time"
)

const (
	// workersFree is up to how many workers no back-off applies: all of them look and claim at once.
	workersFree = 4

	// lookShare, for each worker beyond those, is how long a producer ignores notifications after looks that found nothing again
	// and again.
	lookShare = 2 * time.Millisecond

	// claimShare, for each of them, is the longest pause before a claim of a producer that was too late before: about what a
	// transaction takes, so that those who wait do not come all at once.
	claimShare = time.Millisecond

	// looksFree is how many looks in a row that find nothing change nothing: not each commit adds a job.
	looksFree = 4
)

// Backoff is the back-off of a producer. Where many workers share few processors and one transaction writes at a time, a
// notification wakes all of them, and all but one come too late. Those that came too late look less often, and pause before
// they claim. Each pauses for a random time: of many that wait one is soon there, so that a job waits about as long as beside
// few workers. One goroutine uses it.
type Backoff struct {
	workers    func() int64 // how many are live
	vain       int          // looks in a row that found nothing
	late       int          // how many times in a row other workers were faster
	paused     bool         // since the last look that found a job
	quietUntil time.Time
}

// New returns a back-off beside so many live workers.
func New(workers func() int64) *Backoff { return &Backoff{workers: workers} }

// FoundNothing is told of a look that found nothing.
func (b *Backoff) FoundNothing() {
	b.vain++
	if b.paused {
		b.paused = false
		b.late++
	}
	b.quietUntil = time.Now().Add(b.quietFor())
}

// ClaimedNothing is told of a claim that came too late.
func (b *Backoff) ClaimedNothing() { b.late++ }

// Claimed is told of a claim that gave jobs.
func (b *Backoff) Claimed() { b.vain, b.late, b.paused = 0, 0, false }

// QuietUntil returns until when the producer ignores notifications.
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

func (b *Backoff) quietFor() time.Duration { return b.random(b.vain-looksFree, lookShare) }

func (b *Backoff) pauseFor() time.Duration { return b.random(b.late, claimShare) }

// random returns a random time that grows with n, from 1 on, up to a share for each worker that is too many.
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
