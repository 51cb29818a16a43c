package jobs

import (
	"math"
	"math/rand/v2"
	"time"
)

// MaxRetryDelay caps [DefaultRetryDelay].
const MaxRetryDelay = 24 * time.Hour

// DefaultRetryDelay returns the delay before the next attempt of a job of which n attempts counted (see [Job.Counted]): n^4
// seconds, 10 % more or less at random so that jobs that failed together do not come back together, and at most
// [MaxRetryDelay]. After 1, 2, 3 ... failed attempts that is 1 s, 16 s, 81 s, 4 min, 10 min ... The curve is River's and
// Sidekiq's; 25 attempts take about 10 days. The error makes no difference.
func DefaultRetryDelay(job Job, _ error) time.Duration { return retryDelay(job.Counted()) }

func retryDelay(n int) time.Duration {
	const spread = 0.1
	most := MaxRetryDelay.Seconds()
	seconds := min(math.Pow(float64(max(1, n)), 4), most) // before the spread, so that the longest delays have one too
	seconds *= 1 - spread + 2*spread*rand.Float64()
	return time.Duration(min(seconds, most) * float64(time.Second))
}
