package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// retryDelayWithin is the longest time for a kind's RetryDelay when the handler's own goroutine cannot call it.
const retryDelayWithin = time.Second

// decide derives the attempt's end from the handler's error, on the handler's goroutine. stack is set when it panicked. The
// error's methods and the kind's RetryDelay are the application's code: a panic in them (say, of a nil pointer in an
// error) counts as the attempt's. After runtime.Goexit in them, decide does not return.
func (a *Attempt) decide(err error, stack string) (end lifecycle.End) {
	end.Job = &a.job
	defer func() {
		if p := recover(); p != nil {
			end = lifecycle.End{
				Job: &a.job, Message: core.Clean(fmt.Sprintf("panic in the error or the retry delay: %v", p), redact.MostText),
				Stack: core.Clean(string(debug.Stack()), redact.MostText),
			}
			end = a.failedWith(end, jobtype.CausePanic, nil, DefaultRetryDelay)
		}
	}()
	if err == nil {
		return end // done, also when the context ended shortly before: the work is complete
	}
	end.Message, end.Stack = core.Clean(err.Error(), redact.MostText), core.Clean(stack, redact.MostText)
	if program := (*jobtype.OutputError)(nil); errors.As(err, &program) {
		end.Output = lifecycle.NewOutput(program)
	}
	why := context.Cause(a.ctx)
	var said *verdict
	switch {
	case stack != "":
		return a.afterError(end, err, jobtype.CausePanic)
	case errors.As(err, &said) && !errors.Is(why, jobtype.ErrLeaseLost):
		return a.applyVerdict(end, said)
	case interrupt(&end, why):
		return end
	default:
		return a.afterError(end, err, causeOf(why))
	}
}

// interrupt sets the fate of an attempt whose context ended for a reason that is no failure of the handler: it returns false for any other
// reason.
func interrupt(end *lifecycle.End, why error) bool {
	switch {
	case errors.Is(why, jobtype.ErrLeaseLost):
		end.Fate = lifecycle.FateLost
	case errors.Is(why, jobtype.ErrCancelRequested):
		end.Fate = lifecycle.FateCancel
	case errors.Is(why, jobtype.ErrStopping):
		end.Fate, end.Message, end.Output = lifecycle.FateRelease, "", nil // the job is not charged with an error that a stop causes
	default:
		return false
	}
	return true
}

// causeOf returns the cause of a failure whose context had ended for a reason, or had not ended.
func causeOf(why error) jobtype.Cause {
	if errors.Is(why, jobtype.ErrTimeout) {
		return jobtype.CauseTimeout
	}
	return jobtype.CauseError
}

// undecided returns the end of an attempt whose error, panic value or RetryDelay called runtime.Goexit.
func (a *Attempt) undecided() lifecycle.End {
	if errors.Is(context.Cause(a.ctx), jobtype.ErrLeaseLost) {
		return lifecycle.End{Job: &a.job, Fate: lifecycle.FateLost}
	}
	end := lifecycle.End{
		Job: &a.job, Message: "a method of the handler's error or panic value, or the kind's RetryDelay, called runtime.Goexit",
		Stack: core.Clean(string(debug.Stack()), redact.MostText),
	}
	return a.failedWith(end, jobtype.CausePanic, nil, DefaultRetryDelay)
}

// overrun returns the end of an attempt whose handler ignores the end of its context. It calls the kind's RetryDelay on a
// separate goroutine, which has a second to answer; otherwise DefaultRetryDelay applies.
func (a *Attempt) overrun(why error, after time.Duration) lifecycle.End {
	end := lifecycle.End{Job: &a.job, Message: fmt.Sprintf("%v; the handler went on for %s", why, after)}
	if interrupt(&end, why) {
		return end
	}
	return a.failedWith(end, causeOf(why), why, func(job jobtype.Job, err error) time.Duration {
		if delay, ok := callback.Within(retryDelayWithin, func() time.Duration { return a.handler.RetryDelay(job, err) }); ok {
			return delay
		}
		return DefaultRetryDelay(job, err)
	})
}

// applyVerdict applies the handler's verdict to the end.
func (a *Attempt) applyVerdict(end lifecycle.End, said *verdict) lifecycle.End {
	if said.cause == jobtype.CauseDecode {
		return a.afterError(end, said.err, said.cause)
	}
	end.Fate, end.Cause, end.Message = said.fate, said.cause, reasonOf(said.err)
	switch said.fate {
	case lifecycle.FateSnooze:
		end.Delay, end.Throttle, end.Output = said.delay, said.whole, nil
	case lifecycle.FateUnable:
		end.Spread = unableSpread()
	case lifecycle.FateRetry:
		return a.failedWith(end, said.cause, said.err, func(jobtype.Job, error) time.Duration { return said.delay })
	}
	return end
}

// reasonOf returns the text of a reason that a handler may give; empty without a reason.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return core.Clean(err.Error(), redact.MostText)
}
