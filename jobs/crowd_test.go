package jobs

import (
	"testing"
	"time"
)

// writing is a store of which only that much matters here.
type writing struct {
	Store
	alone bool
}

func (w writing) WritesAlone() bool { return w.alone }

func TestACrowdWaits(t *testing.T) {
	for name, test := range map[string]struct {
		workers     int64
		alone       bool
		times       int
		calm, stand time.Duration // the longest
	}{
		"alone":                      {1, true, 100, 0, 0},
		"few":                        {crowdLeast, true, 100, 0, 0},
		"many, on another engine":    {64, false, 100, 0, 0},
		"many, and never too late":   {64, true, 0, 0, 0},
		"many, and once too late":    {64, true, 1, 0, 2 * time.Millisecond},
		"many, and a few times":      {64, true, looksFree, 0, 16 * time.Millisecond},
		"many, and again and again":  {64, true, 1000, 120 * time.Millisecond, 60 * time.Millisecond},
		"hardly a crowd, and always": {crowdLeast + 1, true, 1000, lookShare, claimShare},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session{store: writing{alone: test.alone}}
			s.crowd.Store(test.workers)
			for what, wait := range map[string]struct {
				draw func(int) time.Duration
				most time.Duration
			}{"calm": {s.calm, test.calm}, "stand back": {s.standBack, test.stand}} {
				longest := time.Duration(0)
				for range 1000 {
					longest = max(longest, wait.draw(test.times))
				}
				// Of a thousand draws one is in the upper half, but for a chance of 2^-1000.
				if longest > wait.most || longest < wait.most/2 {
					t.Errorf("%s: the longest of many waits is %s, and %s is allowed", what, longest, wait.most)
				}
			}
		})
	}
}
