package outage

import (
	"context"
	"errors"
	"time"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// The bounds of the pause after a failure.
const (
	pauseFirst = 50 * time.Millisecond
	pauseLast  = 5 * time.Second
)

// Backoff returns the pause after the nth failure in a row, counted from 1: 50 ms, doubled each time, at most 5 s.
func Backoff(n int) time.Duration { return min(pauseFirst<<min(n-1, 10), pauseLast) }

// Sleep waits for d. It returns false, at once, when ctx ends before that.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Passing reports whether an error is a state of the database that a starting runner waits out. A fault that a person must
// fix, such as a wrong password or a file without write permission, ends the runner.
func Passing(err error) bool {
	for _, state := range []error{
		jobtype.ErrUnavailable, jobtype.ErrReadOnly, jobtype.ErrBusy, jobtype.ErrFull, jobtype.ErrDisk, jobtype.ErrUnknownOutcome,
	} {
		if errors.Is(err, state) {
			return true
		}
	}
	return false
}

// Unusable returns the error when it ends a run, and nil when the statement must be tried again.
func Unusable(err error) error {
	var schema *jobtype.SchemaError
	if errors.Is(err, jobtype.ErrClosed) || errors.Is(err, jobtype.ErrReplaced) || errors.As(err, &schema) {
		return err
	}
	return nil
}
