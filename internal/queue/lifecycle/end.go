package lifecycle

import (
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Fate names the effect of an attempt on its job.
type Fate uint8

const (
	FateDone Fate = iota
	FateRetry
	FateSnooze
	FateFail
	FateCancel
	FateRelease
	FateReturn // the attempt did not start
	FateUnable // the worker could not run the job: the job is put off, and another worker may take it
	FateLost   // nothing is recorded: this worker no longer holds the attempt
	FateCrash  // the attempt ended with its worker
	FateNone   // no attempt ended
)

// Returns reports whether the job may run again.
func (f Fate) Returns() bool {
	switch f {
	case FateRetry, FateSnooze, FateRelease, FateReturn:
		return true
	}
	return false
}

// Public returns the fate for observers.
func (f Fate) Public() jobtype.Fate {
	switch f {
	case FateDone:
		return jobtype.FateDone
	case FateRetry:
		return jobtype.FateRetry
	case FateSnooze:
		return jobtype.FateSnoozed
	case FateFail:
		return jobtype.FateFailed
	case FateCancel:
		return jobtype.FateCancelled
	case FateRelease, FateReturn:
		return jobtype.FateReleased
	case FateUnable:
		return jobtype.FateUnable
	default:
		return jobtype.FateLost
	}
}

// End is the end of an attempt, to be recorded.
type End struct {
	Job     *jobtype.Job  // as claimed: its id, attempt and worker are the fence
	Delay   time.Duration // with FateRetry and FateSnooze; Finish sets the delay of FateUnable
	Spread  time.Duration // with FateUnable: added to the Delay
	Cause   jobtype.Cause // the cause of a failed attempt, or of a claim that came too late
	Message string
	Output  *Output // the output of the program that failed; joined to Message when the end is recorded
	Stack   string
	Result  *string
	Cipher  *cipher.Cipher // encrypts the texts and the result when they are recorded; nil for none

	Fate      Fate
	Recorded  Fate // the fate that Finish recorded: another process may have cancelled the job or claimed it
	Apart     bool // the end may have been recorded before: by CompleteTx, or by a write of unknown outcome
	Completed bool // CompleteTx ran in the attempt
	encrypted bool // the texts and the result are encrypted
	Unstarted bool // the handler was not called
	Throttle  bool // with FateSnooze: the Delay is for all jobs of the job's limit key, if it has one
	Drop      bool // the job's row is removed when the attempt ends well: its kind keeps nothing
}

// recordedCause returns the cause of the attempt's row in sqluice_job_errors.
func (e *End) recordedCause() jobtype.Cause {
	switch {
	case e.Cause != "":
		return e.Cause
	case e.Recorded == FateCancel:
		return jobtype.CauseCancelled
	case e.Recorded == FateUnable:
		return jobtype.CauseUnable
	case e.Recorded == FateSnooze && !e.Unstarted:
		return jobtype.CauseSnoozed
	default:
		return jobtype.CauseReleased
	}
}

// startedAt returns the start of the attempt, in microseconds; 0 if the job was given back or put off before it started.
func (e *End) startedAt() int64 {
	if e.Unstarted || e.Fate == FateReturn {
		return 0
	}
	return core.Micros(e.Job.StartedAt)
}

// isIn reports whether a job's row has the fence of the attempt.
func (e *End) isIn(row db.GetJobFenceRow) bool {
	return row.Attempt == int64(e.Job.Attempt) && row.WorkerID == e.Job.WorkerID
}

// leave records that the end changed its job's status.
func (e *End) leave(t *Transitions, to jobtype.Status) { t.LeaveRunning(refOf(e.Job), e.Recorded, to) }
