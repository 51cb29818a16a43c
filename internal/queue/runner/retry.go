package runner

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// MaxRetryDelay caps DefaultRetryDelay.
const MaxRetryDelay = 24 * time.Hour

// DefaultRetryDelay returns n^4 seconds for a job of which n attempts counted, 10 % more or less at random so that jobs that
// failed together do not come back together, and at most MaxRetryDelay. The curve is River's and Sidekiq's.
func DefaultRetryDelay(job jobtype.Job, _ error) time.Duration {
	const spread = 0.1
	most := MaxRetryDelay.Seconds()
	seconds := min(math.Pow(float64(max(1, job.Counted())), 4), most) // before the spread, so that the longest delays have one too
	seconds *= 1 - spread + 2*spread*rand.Float64()
	return time.Duration(min(seconds, most) * float64(time.Second))
}

// failed retries while attempts are left.
func (a *Attempt) failed(o outcome, err error, cause jobtype.Cause) outcome {
	return a.failedWith(o, cause, err, a.handler.RetryDelay)
}

func (a *Attempt) failedWith(o outcome, cause jobtype.Cause, err error, delay func(jobtype.Job, error) time.Duration) outcome {
	o.cause, o.fate = cause, fateFail
	if a.job.AttemptsLeft() > 0 {
		o.fate = fateRetry
		o.delay = max(0, delay(a.job, err))
	}
	return o
}
