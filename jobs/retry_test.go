package jobs_test

import (
	"math"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

func TestDefaultRetryDelay(t *testing.T) {
	for n := -1; n <= 40; n++ {
		curve := min(math.Pow(float64(max(1, n)), 4)*float64(time.Second), float64(jobs.MaxRetryDelay))
		least := time.Duration(0.9 * curve)
		most := time.Duration(min(1.1*curve, float64(jobs.MaxRetryDelay)))
		for range 200 {
			if d := jobs.DefaultRetryDelay(jobs.Job{Attempt: n}, nil); d < least || d > most {
				t.Fatalf("after %d failed attempts the delay is %s, not from %s to %s", n, d, least, most)
			}
		}
	}
	for _, n := range []int{1000, math.MaxInt32, math.MaxInt} {
		if d := jobs.DefaultRetryDelay(jobs.Job{Attempt: n}, nil); d > jobs.MaxRetryDelay || d < jobs.MaxRetryDelay*9/10 {
			t.Errorf("after %d failed attempts the delay is %s, not about %s", n, d, jobs.MaxRetryDelay)
		}
	}
}

// Jobs that failed together do not come back together.
func TestDefaultRetryDelayVaries(t *testing.T) {
	shortest, longest := time.Duration(math.MaxInt64), time.Duration(0)
	for range 1000 {
		d := jobs.DefaultRetryDelay(jobs.Job{Attempt: 10}, nil)
		shortest, longest = min(shortest, d), max(longest, d)
	}
	// The chance that a thousand even draws leave a quarter of the range unused is below 1 in 10^120.
	if spread := longest - shortest; spread < 1500*time.Second {
		t.Errorf("a thousand delays lie within %s, from %s to %s", spread, shortest, longest)
	}
}
