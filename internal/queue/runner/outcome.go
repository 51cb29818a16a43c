package runner

import (
	"time"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// fate is what becomes of a job after an attempt.
type fate int

const (
	fateDone fate = iota
	fateRetry
	fateSnooze
	fateFail
	fateCancel
	fateRelease
	fateReturn // the attempt was not begun
	fateLost   // nothing is recorded: this worker no longer holds the attempt
)

// outcome is the end of an attempt, to be recorded.
type outcome struct {
	attempt *Attempt
	fate    fate
	delay   time.Duration // of fateRetry and fateSnooze
	cause   jobtype.Cause // when not empty, the attempt gets a row in sqluice_job_errors
	message string
	output  *output // of the program that failed; joined to message when the outcome is recorded
	stack   string
	result  *string
	apart   bool // it may have been recorded before: by CompleteTx, or by a write of unknown outcome
}

// The bounds of an error's texts, in bytes.
const (
	maxMessage = 4 << 10 // of what is recorded
	maxStack   = 16 << 10
)

// public returns what an observer is told.
func (f fate) public() jobtype.Fate {
	switch f {
	case fateDone:
		return jobtype.FateDone
	case fateRetry:
		return jobtype.FateRetry
	case fateSnooze:
		return jobtype.FateSnoozed
	case fateFail:
		return jobtype.FateFailed
	case fateCancel:
		return jobtype.FateCancelled
	case fateRelease, fateReturn:
		return jobtype.FateReleased
	default:
		return jobtype.FateLost
	}
}
