package jobs

import (
	"math"
	"math/rand/v2"
	"time"
)

// MaxRetryDelay caps [DefaultRetryDelay].
const MaxRetryDelay = 24 * time.Hour

// DefaultRetryDelay is n^4 seconds, 10 % more or less at random so that jobs that failed together do not come back
// together, and at most [MaxRetryDelay]: 1 s, 16 s, 81 s, 4 min, 10 min ... after 1, 2, 3 ... failed attempts. The
// curve is River's and Sidekiq's; 25 attempts take about 16 days.
func DefaultRetryDelay(n int) time.Duration {
	seconds := math.Pow(float64(max(1, n)), 4)
	seconds *= 0.9 + 0.2*rand.Float64()
	return time.Duration(min(seconds, MaxRetryDelay.Seconds()) * float64(time.Second))
}
