package jobs

import (
	"time"

	"github.com/sqluice/sqluice/internal/queue/runner"
)

// MaxRetryDelay is the longest [DefaultRetryDelay].
const MaxRetryDelay = runner.MaxRetryDelay

// DefaultRetryDelay returns the delay before the next attempt of a job after n counted attempts (see [Job.Counted]): n^4
// seconds, 10 % more or less at random so that jobs that failed together do not come back together, and at most
// [MaxRetryDelay]. After 1, 2, 3 ... failed attempts that is 1 s, 16 s, 81 s, 4 min, 10 min ... The curve is River's and
// Sidekiq's; 25 attempts take about 11 days. It ignores the error.
func DefaultRetryDelay(job Job, _ error) time.Duration {
	return runner.DefaultRetryDelay(job, nil)
}

// FixedRetry returns a [Kind.RetryDelay] that always returns d. A negative d selects [DefaultRetryDelay].
func FixedRetry(d time.Duration) func(Job, error) time.Duration {
	return func(Job, error) time.Duration { return d }
}

// ExponentialRetry returns a [Kind.RetryDelay] that is first after the first failed attempt and doubles after each further one, 10 %
// more or less at random, and at most most. A negative first or most selects [DefaultRetryDelay].
func ExponentialRetry(first, most time.Duration) func(Job, error) time.Duration {
	return func(job Job, _ error) time.Duration {
		if first < 0 || most < 0 {
			return -1
		}
		return runner.ExponentialRetry(job, first, most)
	}
}

// RetryAfter returns a [Kind.RetryDelay] with the delays after the first failed attempt, the second and so on; the last one applies
// to all further ones. Without delays, and for negative ones, it uses [DefaultRetryDelay].
func RetryAfter(delays ...time.Duration) func(Job, error) time.Duration {
	return func(job Job, _ error) time.Duration {
		if len(delays) == 0 {
			return -1
		}
		return delays[min(max(1, job.Counted()), len(delays))-1]
	}
}

// Snooze, returned by a handler, puts the job off by d; the attempt does not count. A negative d means 0. Then the job is due again at
// once, and before all jobs of a lower priority: a job that polls needs a delay. Other errors that are joined to it are not recorded.
func Snooze(d time.Duration) error { return runner.Snooze(d, nil) }

// Throttle, returned by a handler, lets no job of its kind and limit key start for d, as when a service has answered 429. The job keeps its
// place, and the attempt does not count. A job without a limit key is put off alone, as by [Snooze]. A negative d means 0. Running jobs go
// on. Of two such times the later one applies.
func Throttle(d time.Duration) error { return runner.Throttle(d, nil) }

// SnoozeBecause is [Snooze] with a reason, which may be nil: people see it beside the attempt, as "the partner's API is down". Only the
// attempt stores it, and it is encrypted and withheld as errors are; the job's last error stays.
func SnoozeBecause(d time.Duration, reason error) error { return runner.Snooze(d, reason) }

// Unable, returned by a handler, releases a job that its worker cannot run and another one may: it lacks a program, memory, file
// descriptors or a right, and nothing of the job was done. The attempt does not count, and the job keeps its [StartBy] time. It is put off
// by about a second after the first such attempt, and by a second more after each further one in a row, up to a minute. The reason err is
// recorded with the cause [CauseUnable]. A runner does the same with a payload of a version that its program does not know (see
// [Kind.Version]) and with a payload whose key it does not have.
//
// An error that only wraps the cause, such as [syscall.EMFILE] in a handler's own call, is a failed attempt like others: it may have come
// after a part of the work.
func Unable(err error) error { return runner.Unable(err) }

// Cancel, returned by a handler, ends the job as cancelled, with err (which may be nil) as the reason.
func Cancel(err error) error { return runner.Cancel(err) }

// Discard, returned by a handler, fails the job for good although attempts may be left.
func Discard(err error) error { return runner.Discard(err) }

// RetryIn, returned by a handler, fails the attempt and sets the delay before the next one to d instead of the kind's. For a negative d
// [DefaultRetryDelay] applies, which is logged once.
func RetryIn(d time.Duration, err error) error { return runner.RetryIn(d, err) }
