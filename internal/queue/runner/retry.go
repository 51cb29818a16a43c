package runner

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// MaxRetryDelay caps DefaultRetryDelay.
const MaxRetryDelay = 24 * time.Hour

// DefaultRetryDelay returns n^4 seconds after n attempts that counted, 10 % more or less at random so that jobs that failed
// together do not come back together, and at most MaxRetryDelay. The curve is River's and Sidekiq's.
func DefaultRetryDelay(job jobtype.Job, _ error) time.Duration {
	return spread(math.Pow(float64(max(1, job.Counted())), 4), MaxRetryDelay)
}

// ExponentialRetry returns first, doubled after each further attempt that counted, with the spread of DefaultRetryDelay, and at most
// most.
func ExponentialRetry(job jobtype.Job, first, most time.Duration) time.Duration {
	return spread(first.Seconds()*math.Pow(2, float64(min(max(1, job.Counted()), 64)-1)), most)
}

// spread returns a delay of the given seconds, 10 % more or less at random, and at most most.
func spread(seconds float64, most time.Duration) time.Duration {
	const share = 0.1
	delay := min(seconds*float64(time.Second), float64(most)) // capped before the spread, so that the longest delays differ too
	delay *= 1 - share + 2*share*rand.Float64()
	if delay >= float64(most) {
		return most
	}
	return time.Duration(delay)
}

// unableSpread returns a random part of a second: jobs that a worker gave back together do not fall due together.
func unableSpread() time.Duration { return rand.N(time.Second) }

// afterError retries while attempts are left.
func (a *Attempt) afterError(end lifecycle.End, err error, cause jobtype.Cause) lifecycle.End {
	return a.failedWith(end, cause, err, a.handler.RetryDelay)
}

func (a *Attempt) failedWith(end lifecycle.End, cause jobtype.Cause, err error, delay func(jobtype.Job, error) time.Duration) lifecycle.End {
	end.Cause, end.Fate = cause, lifecycle.FateFail
	if a.job.AttemptsLeft() > 0 {
		end.Fate = lifecycle.FateRetry
		if end.Delay = delay(a.job, err); end.Delay < 0 {
			a.warnNegativeDelay(end.Delay)
			end.Delay = DefaultRetryDelay(a.job, err)
		}
	}
	return end
}

// warnNegativeDelay logs, once for each kind, that its RetryDelay or a handler with RetryIn asked for a negative delay.
func (a *Attempt) warnNegativeDelay(delay time.Duration) {
	if _, warned := a.env.negativeDelays.LoadOrStore(a.job.Kind, true); !warned {
		a.env.log.Warn("a retry was asked for after a negative delay; the default applies", "kind", a.job.Kind, "delay", delay)
	}
}
