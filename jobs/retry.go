package jobs

import (
	"time"

	"github.com/sqluice/sqluice/internal/queue/runner"
)

// MaxRetryDelay caps [DefaultRetryDelay].
const MaxRetryDelay = runner.MaxRetryDelay

// DefaultRetryDelay returns the delay before the next attempt of a job of which n attempts counted (see [Job.Counted]): n^4
// seconds, 10 % more or less at random so that jobs that failed together do not come back together, and at most
// [MaxRetryDelay]. After 1, 2, 3 ... failed attempts that is 1 s, 16 s, 81 s, 4 min, 10 min ... The curve is River's and
// Sidekiq's; 25 attempts take about 10 days. The error makes no difference.
func DefaultRetryDelay(job Job, _ error) time.Duration {
	return runner.DefaultRetryDelay(job, nil)
}

// Snooze, returned by a handler, puts the job off by d; the attempt does not count. A negative d means 0. Then the job is due again at
// once, and before all jobs of a lower priority: one that checks again and again needs a delay. Other errors that are joined to it are
// not recorded.
func Snooze(d time.Duration) error { return runner.Snooze(d) }

// Cancel, returned by a handler, ends the job as cancelled, with err (which may be nil) as the reason.
func Cancel(err error) error { return runner.Cancel(err) }

// Discard, returned by a handler, fails the job for good although attempts may be left.
func Discard(err error) error { return runner.Discard(err) }

// RetryIn, returned by a handler, is a failed attempt whose next one comes after d instead of the kind's delay.
func RetryIn(d time.Duration, err error) error { return runner.RetryIn(d, err) }
