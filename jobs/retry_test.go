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
	// The chance that a thousand uniform draws leave a quarter of the range unused is below 1 in 10^120.
	if spread := longest - shortest; spread < 1500*time.Second {
		t.Errorf("a thousand delays lie within %s, from %s to %s", spread, shortest, longest)
	}
}

// retryCase is a preset with its delays after 1, 2, 3 ... failed attempts; exact ones have no spread.
type retryCase struct {
	delay func(jobs.Job, error) time.Duration
	want  []time.Duration
	exact bool
}

func TestRetryPresets(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]retryCase{
		"fixed":          {jobs.FixedRetry(5 * s), []time.Duration{5 * s, 5 * s, 5 * s}, true},
		"exponential":    {jobs.ExponentialRetry(s, time.Minute), []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}, false},
		"a list":         {jobs.RetryAfter(s, time.Minute), []time.Duration{s, time.Minute, time.Minute}, true},
		"nothing":        {jobs.RetryAfter(), []time.Duration{-1, -1}, true},
		"first negative": {jobs.ExponentialRetry(-s, s), []time.Duration{-1}, true},
		"most negative":  {jobs.ExponentialRetry(s, -s), []time.Duration{-1}, true},
		"no delay":       {jobs.ExponentialRetry(0, s), []time.Duration{0, 0}, true},
	} {
		for i, want := range c.want {
			have := c.delay(jobs.Job{Attempt: i + 1}, nil)
			if c.exact && have != want || !c.exact && (have < want*9/10 || have > want*11/10) {
				t.Errorf("%s: after %d failed attempts the delay is %s, not %s", name, i+1, have, want)
			}
		}
		c.delay(jobs.Job{}, nil) // and no panic
	}
	for _, n := range []int{100, 1100, math.MaxInt32, math.MaxInt} {
		if d := jobs.ExponentialRetry(0, time.Hour)(jobs.Job{Attempt: n}, nil); d != 0 {
			t.Errorf("without a first delay the one after %d failed attempts is %s", n, d)
		}
		if d := jobs.ExponentialRetry(time.Millisecond, math.MaxInt64)(jobs.Job{Attempt: n}, nil); d < math.MaxInt64/10*8 {
			t.Errorf("after %d failed attempts the delay is %s", n, d)
		}
	}
}
