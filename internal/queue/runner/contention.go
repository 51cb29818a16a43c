package runner

import (
	"math/rand/v2"
	"time"
)

const (
	// contentionFree is up to how many workers no back-off applies: all of them look and claim at once.
	contentionFree = 4

	// lookShare, for each worker beyond those, is how long a producer ignores notifications after looks that found nothing again
	// and again.
	lookShare = 2 * time.Millisecond

	// claimShare, for each of them, is the longest pause before a claim of a producer that was too late before: about what a
	// transaction takes, so that those who wait do not come all at once.
	claimShare = time.Millisecond

	// looksFree is how many looks in a row that find nothing change nothing: not each commit adds a job.
	looksFree = 4
)

// contention is the back-off of a producer. Where many workers share few processors and one transaction writes at a time, a
// notification wakes all of them, and all but one come too late. Those that came too late look less often, and pause before
// they claim. Each pauses for a random time: of many that wait one is soon there, so that a job waits about as long as beside
// few workers.
type contention struct {
	writesAlone bool
	workers     func() int64 // how many are live
	vain        int          // looks in a row that found nothing
	late        int          // how many times in a row other workers were faster
	paused      bool         // since the last look that found a job
	quietUntil  time.Time    // notifications are ignored before it
}

// foundNothing is told of a look that found nothing.
func (c *contention) foundNothing() {
	c.vain++
	if c.paused {
		c.paused = false
		c.late++
	}
	c.quietUntil = time.Now().Add(c.quietFor())
}

// claimedNothing is told of a claim that came too late.
func (c *contention) claimedNothing() { c.late++ }

// claimed is told of a claim that gave jobs.
func (c *contention) claimed() { c.vain, c.late, c.paused = 0, 0, false }

// pauseBeforeClaim returns the pause before a claim, once after each look that found a job; the producer then looks again.
func (c *contention) pauseBeforeClaim() time.Duration {
	if c.paused {
		c.paused = false
		return 0
	}
	pause := c.pauseFor()
	c.paused = pause > 0
	return pause
}

func (c *contention) quietFor() time.Duration { return c.random(c.vain-looksFree, lookShare) }

func (c *contention) pauseFor() time.Duration { return c.random(c.late, claimShare) }

// random returns a random time that grows with n, from 1 on, up to a share for each worker that is too many.
func (c *contention) random(n int, share time.Duration) time.Duration {
	if n <= 0 || !c.writesAlone {
		return 0
	}
	many := c.workers() - contentionFree
	if many <= 0 {
		return 0
	}
	return rand.N(min(time.Millisecond<<min(n, 10), time.Duration(many)*share))
}
