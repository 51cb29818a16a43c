package jobs

import (
	"errors"
	"fmt"
	"time"
)

// verdict is an error by which a handler says what is to become of its job.
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
)

func (v *verdict) Error() string {
	switch v.kind {
	case verdictSnooze:
		return fmt.Sprintf("snooze for %s", v.delay)
	case verdictCancel:
		return fmt.Sprintf("cancel: %v", v.err)
	case verdictDiscard:
		return fmt.Sprintf("discard: %v", v.err)
	default:
		return fmt.Sprintf("retry in %s: %v", v.delay, v.err)
	}
}

func (v *verdict) Unwrap() error { return v.err }

// Snooze, returned by a handler, puts the job off by d; the attempt does not count. A negative d means 0.
func Snooze(d time.Duration) error { return &verdict{kind: verdictSnooze, delay: max(0, d)} }

// Cancel, returned by a handler, ends the job as cancelled, with err (which may be nil) as the reason.
func Cancel(err error) error { return &verdict{kind: verdictCancel, err: err} }

// Discard, returned by a handler, fails the job for good although attempts may be left.
func Discard(err error) error {
	if err == nil {
		err = errors.New("discarded by its handler")
	}
	return &verdict{kind: verdictDiscard, err: err}
}

// RetryIn, returned by a handler, is a failed attempt whose next one comes after d instead of the kind's delay.
func RetryIn(d time.Duration, err error) error {
	if err == nil {
		err = errors.New("to be retried")
	}
	return &verdict{kind: verdictRetry, delay: max(0, d), err: err}
}
