package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// retryDelayWithin is how long a kind's RetryDelay may take when the handler's own goroutine cannot call it.
const retryDelayWithin = time.Second

// judge decides what the end of a handler means, on the handler's goroutine. stack is set when it panicked. The error's
// methods and the kind's RetryDelay are the application's code: a panic in them (say, of a nil pointer in an error) is the
// attempt's too. After runtime.Goexit in them, judge does not return.
func (a *Attempt) judge(err error, stack string) (o outcome) {
	o.attempt = a
	defer func() {
		if p := recover(); p != nil {
			o = outcome{
				attempt: a, message: core.Clean(fmt.Sprintf("panic in the error or the retry delay: %v", p), redact.MostText),
				stack: core.Clean(string(debug.Stack()), redact.MostText),
			}
			o = a.failedWith(o, jobtype.CausePanic, nil, DefaultRetryDelay)
		}
	}()
	if err == nil {
		return o // done, also when the context ended shortly before: the work is done
	}
	o.message, o.stack = core.Clean(err.Error(), redact.MostText), core.Clean(stack, redact.MostText)
	if program := (*jobtype.OutputError)(nil); errors.As(err, &program) {
		o.output = newOutput(program)
	}
	why := context.Cause(a.ctx)
	var said *verdict
	switch {
	case stack != "":
		return a.failed(o, err, jobtype.CausePanic)
	case errors.Is(why, jobtype.ErrLeaseLost):
		o.fate = fateLost
	case errors.As(err, &said):
		return a.follow(o, said)
	case errors.Is(why, jobtype.ErrCancelRequested):
		o.fate = fateCancel
	case errors.Is(why, jobtype.ErrStopping):
		o.fate, o.message, o.output = fateRelease, "", nil // an error that a stop causes is not the job's
	case errors.Is(why, jobtype.ErrTimeout):
		return a.failed(o, err, jobtype.CauseTimeout)
	default:
		return a.failed(o, err, jobtype.CauseError)
	}
	return o
}

// unjudged is the outcome of an attempt whose error, panic value or RetryDelay called runtime.Goexit.
func (a *Attempt) unjudged() outcome {
	if errors.Is(context.Cause(a.ctx), jobtype.ErrLeaseLost) {
		return outcome{attempt: a, fate: fateLost}
	}
	o := outcome{
		attempt: a, message: "a method of the handler's error or panic value, or the kind's RetryDelay, called runtime.Goexit",
		stack: core.Clean(string(debug.Stack()), redact.MostText),
	}
	return a.failedWith(o, jobtype.CausePanic, nil, DefaultRetryDelay)
}

// overrun is the outcome of an attempt whose handler ignores the end of its context. The kind's RetryDelay is called on a
// goroutine of its own and has a second to answer; otherwise DefaultRetryDelay applies.
func (a *Attempt) overrun(why error, after time.Duration) outcome {
	o := outcome{attempt: a, message: fmt.Sprintf("%v; the handler went on for %s", why, after)}
	switch {
	case errors.Is(why, jobtype.ErrLeaseLost):
		o.fate = fateLost
		return o
	case errors.Is(why, jobtype.ErrCancelRequested):
		o.fate = fateCancel
		return o
	case errors.Is(why, jobtype.ErrStopping):
		o.fate, o.message = fateRelease, ""
		return o
	}
	cause := jobtype.CauseError
	if errors.Is(why, jobtype.ErrTimeout) {
		cause = jobtype.CauseTimeout
	}
	return a.failedWith(o, cause, why, func(job jobtype.Job, err error) time.Duration {
		if delay, ok := callback.Within(retryDelayWithin, func() time.Duration { return a.handler.RetryDelay(job, err) }); ok {
			return delay
		}
		return DefaultRetryDelay(job, err)
	})
}

// follow does what the handler said.
func (a *Attempt) follow(o outcome, said *verdict) outcome {
	switch said.kind {
	case verdictSnooze:
		o.fate, o.delay, o.message, o.output = fateSnooze, said.delay, "", nil
	case verdictCancel:
		o.fate, o.message = fateCancel, ""
		if said.err != nil {
			o.message = core.Clean(said.err.Error(), redact.MostText)
		}
	case verdictDiscard:
		o.fate, o.cause, o.message = fateFail, jobtype.CauseError, core.Clean(said.err.Error(), redact.MostText)
	case verdictRetry:
		o.message = core.Clean(said.err.Error(), redact.MostText)
		return a.failedWith(o, jobtype.CauseError, said.err, func(jobtype.Job, error) time.Duration { return said.delay })
	}
	return o
}
