package contention

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	for name, test := range map[string]struct {
		workers      int64
		times        int
		quiet, pause time.Duration // the longest
	}{
		"alone":                     {1, 100, 0, 0},
		"few":                       {workersFree, 100, 0, 0},
		"many, and never too late":  {64, 0, 0, 0},
		"many, and once too late":   {64, 1, 0, 2 * time.Millisecond},
		"many, and a few times":     {64, looksFree, 0, 16 * time.Millisecond},
		"many, and again and again": {64, 1000, 120 * time.Millisecond, 60 * time.Millisecond},
		"one too many, and always":  {workersFree + 1, 1000, lookShare, claimShare},
	} {
		t.Run(name, func(t *testing.T) {
			c := Backoff{workers: func() int64 { return test.workers }, emptyLooks: test.times, lostClaims: test.times}
			for what, wait := range map[string]struct {
				draw func() time.Duration
				most time.Duration
			}{"quiet": {c.quietFor, test.quiet}, "pause": {c.pauseFor, test.pause}} {
				longest := time.Duration(0)
				for range 1000 {
					longest = max(longest, wait.draw())
				}
				// A thousand draws without one in the upper half have a chance of 2^-1000.
				if longest > wait.most || longest < wait.most/2 {
					t.Errorf("%s: the longest of many waits is %s, and %s is allowed", what, longest, wait.most)
				}
			}
		})
	}
}

// A producer pauses once for each look that found a job, and not after a claim that returned some.
func TestBackoffPausesOnce(t *testing.T) {
	c := New(func() int64 { return 64 })
	if c.PauseBeforeClaim() != 0 {
		t.Error("it pauses though it was never late")
	}
	c.lostClaims = 1000
	for round := range 3 {
		for c.PauseBeforeClaim() == 0 { // a random pause may be 0
		}
		if c.PauseBeforeClaim() != 0 {
			t.Errorf("round %d: it pauses again without a look", round)
		}
	}
	for c.PauseBeforeClaim() == 0 {
	}
	if c.FoundNothing(); c.lostClaims != 1001 || c.paused {
		t.Errorf("after a pause in vain it was late %d times, paused: %t", c.lostClaims, c.paused)
	}
	if c.Claimed(); c.lostClaims != 0 || c.emptyLooks != 0 {
		t.Errorf("after a claim it was late %d times, and looked in vain %d times", c.lostClaims, c.emptyLooks)
	}
}
