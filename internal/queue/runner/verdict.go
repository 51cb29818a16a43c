package runner

import (
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// verdict is an error with which a handler decides about its job, or the runner before it calls the handler.
type verdict struct {
	fate  lifecycle.Fate
	cause jobtype.Cause // as in [lifecycle.End]; CauseDecode keeps the delay of the kind
	delay time.Duration
	whole bool // with FateSnooze: the delay is for all jobs of the limit key
	err   error
}

func (v *verdict) Error() string {
	switch {
	case v.fate == lifecycle.FateUnable, v.cause == jobtype.CauseDecode, v.cause == jobtype.CauseExpired:
		return v.err.Error()
	case v.fate == lifecycle.FateSnooze && v.err == nil:
		return fmt.Sprintf("snooze for %s", v.delay)
	case v.fate == lifecycle.FateSnooze:
		return fmt.Sprintf("snooze for %s: %v", v.delay, v.err)
	case v.fate == lifecycle.FateCancel:
		return fmt.Sprintf("cancel: %v", v.err)
	case v.fate == lifecycle.FateFail:
		return fmt.Sprintf("discard: %v", v.err)
	default:
		return fmt.Sprintf("retry in %s: %v", v.delay, v.err)
	}
}

func (v *verdict) Unwrap() error { return v.err }

// Snooze returns the error of jobs.Snooze and jobs.SnoozeBecause.
func Snooze(d time.Duration, reason error) error {
	return &verdict{fate: lifecycle.FateSnooze, delay: max(0, d), err: reason}
}

// Throttle returns the error of jobs.Throttle.
func Throttle(d time.Duration, reason error) error {
	return &verdict{fate: lifecycle.FateSnooze, delay: max(0, d), whole: true, err: reason}
}

// Cancel returns the error of jobs.Cancel.
func Cancel(err error) error { return &verdict{fate: lifecycle.FateCancel, err: err} }

// Discard returns the error of jobs.Discard.
func Discard(err error) error {
	if err == nil {
		err = errors.New("discarded by its handler")
	}
	return &verdict{fate: lifecycle.FateFail, cause: jobtype.CauseError, err: err}
}

// RetryIn returns the error of jobs.RetryIn.
func RetryIn(d time.Duration, err error) error {
	if err == nil {
		err = errors.New("to be retried")
	}
	return &verdict{fate: lifecycle.FateRetry, cause: jobtype.CauseError, delay: d, err: err}
}

// Undecoded returns the error of an attempt whose payload does not fit the handler's type. It is retried like other errors: in a
// rolling deploy the next worker may have a type that fits.
func Undecoded(err error) error {
	return &verdict{fate: lifecycle.FateRetry, cause: jobtype.CauseDecode, err: err}
}

// Unable returns the error of jobs.Unable.
func Unable(err error) error {
	if err == nil {
		err = errors.New("the worker cannot run the job")
	}
	return &verdict{fate: lifecycle.FateUnable, err: err}
}

// FateOf returns the fate that a handler's error asks for: see jobs.FateOf.
func FateOf(err error) jobtype.Fate {
	if err == nil {
		return jobtype.FateDone
	}
	var said *verdict
	if !errors.As(err, &said) {
		return jobtype.FateRetry
	}
	return said.fate.Public()
}
