package runner

import (
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// verdict is an error with which a handler decides about its job.
type verdict struct {
	kind  verdictKind
	delay time.Duration
	err   error
}

type verdictKind int

const (
	verdictSnooze verdictKind = iota
	verdictCancel
	verdictDiscard
	verdictRetry
	verdictDecode
	verdictUnable
	verdictExpired // only the runner sets it
)

func (v *verdict) Error() string {
	switch v.kind {
	case verdictSnooze:
		if v.err != nil {
			return fmt.Sprintf("snooze for %s: %v", v.delay, v.err)
		}
		return fmt.Sprintf("snooze for %s", v.delay)
	case verdictCancel:
		return fmt.Sprintf("cancel: %v", v.err)
	case verdictDiscard:
		return fmt.Sprintf("discard: %v", v.err)
	case verdictDecode, verdictUnable, verdictExpired:
		return v.err.Error()
	default:
		return fmt.Sprintf("retry in %s: %v", v.delay, v.err)
	}
}

func (v *verdict) Unwrap() error { return v.err }

// Snooze returns the error of jobs.Snooze and jobs.SnoozeBecause.
func Snooze(d time.Duration, reason error) error {
	return &verdict{kind: verdictSnooze, delay: max(0, d), err: reason}
}

// Cancel returns the error of jobs.Cancel.
func Cancel(err error) error { return &verdict{kind: verdictCancel, err: err} }

// Discard returns the error of jobs.Discard.
func Discard(err error) error {
	if err == nil {
		err = errors.New("discarded by its handler")
	}
	return &verdict{kind: verdictDiscard, err: err}
}

// RetryIn returns the error of jobs.RetryIn.
func RetryIn(d time.Duration, err error) error {
	if err == nil {
		err = errors.New("to be retried")
	}
	return &verdict{kind: verdictRetry, delay: d, err: err}
}

// Undecoded returns the error of an attempt whose payload does not fit the handler's type. It is retried like other errors: in a
// rolling deploy the next worker may have a type that fits.
func Undecoded(err error) error { return &verdict{kind: verdictDecode, err: err} }

// Unable returns the error of jobs.Unable.
func Unable(err error) error {
	if err == nil {
		err = errors.New("the worker cannot run the job")
	}
	return &verdict{kind: verdictUnable, err: err}
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
	switch said.kind {
	case verdictSnooze:
		return jobtype.FateSnoozed
	case verdictUnable:
		return jobtype.FateUnable
	case verdictCancel:
		return jobtype.FateCancelled
	case verdictDiscard:
		return jobtype.FateFailed
	default:
		return jobtype.FateRetry
	}
}
