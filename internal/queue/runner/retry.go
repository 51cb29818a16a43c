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
func (a *Attempt) failed(end lifecycle.End, err error, cause jobtype.Cause) lifecycle.End {
	return a.failedWith(end, cause, err, a.handler.RetryDelay)
}

func (a *Attempt) failedWith(end lifecycle.End, cause jobtype.Cause, err error, delay func(jobtype.Job, error) time.Duration) lifecycle.End {
	end.Cause, end.Fate = cause, lifecycle.FateFail
	if a.job.AttemptsLeft() > 0 {
		end.Fate = lifecycle.FateRetry
		if end.Delay = delay(a.job, err); end.Delay < 0 {
			a.executor.tellDelay(a.job.Kind, end.Delay)
			end.Delay = DefaultRetryDelay(a.job, err)
		}
	}
	return end
}

// tellDelay logs, once for each kind, that its RetryDelay returned a negative delay.
func (x *executor) tellDelay(kind string, delay time.Duration) {
	if _, told := x.toldDelays.LoadOrStore(kind, true); !told {
		x.log.Warn("RetryDelay returned a negative delay; the default applies", "kind", kind, "delay", delay)
	}
}
