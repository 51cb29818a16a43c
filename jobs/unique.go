package jobs

import (
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Unique makes the enqueue return an existing job, instead of adding one, when a live job (scheduled, pending or running) of the
// same kind has the same key. An empty key means none. Of Unique, [UniqueReplace], [UniqueAgain],
// [UniqueReplaceRunning], [Debounce] and [UniqueFor] the last one given applies.
func Unique(key string) EnqueueOption { return unique(key, lifecycle.Unique{}) }

// UniqueReplace is Unique, except that a live job that is not running takes the payload and the options of the newest enqueue, and
// keeps its time and its request id. The receipt has Replaced. A running job stays unchanged. A job that waits for a further attempt
// starts anew with the new payload: it has all attempts, and is due as if it was enqueued now.
func UniqueReplace(key string) EnqueueOption {
	return unique(key, lifecycle.Unique{Mode: lifecycle.UniqueReplace})
}

// UniqueAgain is UniqueReplace, except for a running job: the enqueue adds one job beside it, which begins when the running one and its
// retries have ended, and which further enqueues replace until then. So a run that begins later sees every change made while a job runs,
// and a handler may enqueue its own job again.
func UniqueAgain(key string) EnqueueOption {
	return unique(key, lifecycle.Unique{Mode: lifecycle.UniqueAgain})
}

// UniqueReplaceRunning is UniqueAgain, except that the enqueue also asks the running job to end, as [Client.Cancel] does: the newest enqueue
// wins. Its job begins when the running one has ended. That one ends as cancelled, or as done if its handler ends well all the same. A
// handler that enqueues its own key so ends its own attempt.
func UniqueReplaceRunning(key string) EnqueueOption {
	return unique(key, lifecycle.Unique{Mode: lifecycle.UniqueReplaceRunning})
}

// Debounce is UniqueAgain for jobs that are enqueued in bursts: the job runs with the newest payload once no enqueue with the key has come
// for the time quiet, which must be positive. [AtMost] bounds the time for which enqueues can put it off. The job's metadata, which then
// must be an object, hold the options as [DebounceField].
func Debounce(key string, quiet time.Duration, opts ...DebounceOption) EnqueueOption {
	how := lifecycle.Unique{Mode: lifecycle.UniqueDebounce, Quiet: quiet}
	for _, opt := range opts {
		opt(&how)
	}
	return unique(key, how)
}

// DebounceOption is an option of [Debounce].
type DebounceOption func(*lifecycle.Unique)

// AtMost makes a debounced job run at most d after the first enqueue of a burst. It must not be less than the quiet time; 0 means no
// bound.
func AtMost(d time.Duration) DebounceOption { return func(u *lifecycle.Unique) { u.AtMost = d } }

// UniqueFor makes the enqueue return an existing job, instead of adding one, when a job of the same kind was added with the same key
// within the period, whatever its status: also when its row is gone. The period counts from the enqueue that added the job. The key is not
// one of the job: [Unique] with the same key ignores it, and a job that takes longer than the period runs beside the next one.
func UniqueFor(key string, period time.Duration) EnqueueOption {
	return unique(key, lifecycle.Unique{Mode: lifecycle.UniquePeriod, Period: period})
}

// DebounceField is the field of a job's metadata with its debounce options.
const DebounceField = jobtype.DebounceField

func unique(key string, how lifecycle.Unique) EnqueueOption {
	return func(e *enqueue) {
		e.uniqueKey, e.unique = core.Optional(key), nil
		if key != "" && how != (lifecycle.Unique{}) {
			e.unique = &how
		}
	}
}

// how returns the job's unique mode.
func (e *enqueue) how() lifecycle.Unique {
	if e.unique == nil {
		return lifecycle.Unique{}
	}
	return *e.unique
}

// debounce returns the unique mode if the job is debounced, or else nil.
func (e *enqueue) debounce() *lifecycle.Unique {
	if e.unique == nil || e.unique.Mode != lifecycle.UniqueDebounce {
		return nil
	}
	return e.unique
}

// checkUnique returns an error for invalid times of a unique mode.
func (e *enqueue) checkUnique() error {
	how := e.how()
	switch {
	case how.Mode == lifecycle.UniqueDebounce && how.Quiet < time.Microsecond:
		return jobtype.NewInvalidError("debounce time", how.Quiet.String(), "be at least 1us")
	case how.Mode == lifecycle.UniqueDebounce && how.AtMost != 0 && how.AtMost < how.Quiet:
		return jobtype.NewInvalidError("longest debounce", how.AtMost.String(), "be at least the debounce time, "+how.Quiet.String())
	case how.Mode == lifecycle.UniquePeriod && how.Period < time.Microsecond:
		return jobtype.NewInvalidError("unique period", how.Period.String(), "be at least 1us")
	case how.Mode == lifecycle.UniquePeriod && how.Period > maxUniquePeriod:
		return jobtype.NewInvalidError("unique period", how.Period.String(), "be at most "+maxUniquePeriod.String())
	}
	return nil
}

// maxUniquePeriod is the longest period: its end is before the year 9999, where most clocks end.
const maxUniquePeriod = 100 * 365 * 24 * time.Hour

// withDebounce adds the job's debounce options to metadata, which are none or an object.
func (e *enqueue) withDebounce(metadata *string) (*string, error) {
	how := e.debounce()
	if how == nil {
		return metadata, nil
	}
	return core.WithField(metadata, jobtype.DebounceField, jobtype.Debounce{Quiet: how.Quiet, AtMost: how.AtMost}, ": the job is debounced, which is noted there")
}
