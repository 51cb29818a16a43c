package runner

import (
	"testing"
	"time"
)

func TestContention(t *testing.T) {
	for name, test := range map[string]struct {
		workers      int64
		alone        bool
		times        int
		quiet, pause time.Duration // the longest
	}{
		"alone":                     {1, true, 100, 0, 0},
		"few":                       {contentionFree, true, 100, 0, 0},
		"many, on another engine":   {64, false, 100, 0, 0},
		"many, and never too late":  {64, true, 0, 0, 0},
		"many, and once too late":   {64, true, 1, 0, 2 * time.Millisecond},
		"many, and a few times":     {64, true, looksFree, 0, 16 * time.Millisecond},
		"many, and again and again": {64, true, 1000, 120 * time.Millisecond, 60 * time.Millisecond},
		"one too many, and always":  {contentionFree + 1, true, 1000, lookShare, claimShare},
	} {
		t.Run(name, func(t *testing.T) {
			c := contention{writesAlone: test.alone, workers: func() int64 { return test.workers }, vain: test.times, late: test.times}
			for what, wait := range map[string]struct {
				draw func() time.Duration
				most time.Duration
			}{"quiet": {c.quietFor, test.quiet}, "pause": {c.pauseFor, test.pause}} {
				longest := time.Duration(0)
				for range 1000 {
					longest = max(longest, wait.draw())
				}
				// Of a thousand draws one is in the upper half, but for a chance of 2^-1000.
				if longest > wait.most || longest < wait.most/2 {
					t.Errorf("%s: the longest of many waits is %s, and %s is allowed", what, longest, wait.most)
				}
			}
		})
	}
}

// A producer pauses once for each look that found a job, and not after a claim that gave some.
func TestContentionPausesOnce(t *testing.T) {
	c := contention{writesAlone: true, workers: func() int64 { return 64 }}
	if c.pauseBeforeClaim() != 0 {
		t.Error("it pauses though it was never late")
	}
	c.late = 1000
	for round := range 3 {
		for c.pauseBeforeClaim() == 0 { // a random pause may be 0
		}
		if c.pauseBeforeClaim() != 0 {
			t.Errorf("round %d: it pauses again without a look", round)
		}
	}
	for c.pauseBeforeClaim() == 0 {
	}
	if c.foundNothing(); c.late != 1001 || c.paused {
		t.Errorf("after a pause in vain it was late %d times, paused: %t", c.late, c.paused)
	}
	if c.claimed(); c.late != 0 || c.vain != 0 {
		t.Errorf("after a claim it was late %d times, and looked in vain %d times", c.late, c.vain)
	}
}
