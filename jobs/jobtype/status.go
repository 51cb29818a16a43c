package jobtype

import "strconv"

// Status is a stage in the life of a job: see docs/lifecycle.md.
type Status string

const (
	StatusScheduled Status = "scheduled" // waits for its run_after
	StatusWaiting   Status = "waiting"   // due, waits for room in its limit
	StatusPending   Status = "pending"   // due, waits for a worker
	StatusRunning   Status = "running"   // held by a worker
	StatusDone      Status = "done"      // ended well
	StatusFailed    Status = "failed"    // its attempts are used up, or it was discarded; kept for people
	StatusCancelled Status = "cancelled" // ended by request
)

// In the order of a job's life.
var statuses = [...]Status{StatusScheduled, StatusWaiting, StatusPending, StatusRunning, StatusDone, StatusFailed, StatusCancelled}

// Statuses returns all statuses in the order of a job's life.
func Statuses() []Status { return append([]Status(nil), statuses[:]...) }

// ParseStatus returns the status with this name, or an [InvalidError] that lists those that exist.
func ParseStatus(name string) (Status, error) {
	for _, s := range statuses {
		if string(s) == name {
			return s, nil
		}
	}
	return "", NewInvalidError("status", strconv.Quote(name), "be scheduled, waiting, pending, running, done, failed or cancelled")
}

// Final reports whether a job with this status has ended.
func (s Status) Final() bool {
	return s == StatusDone || s == StatusFailed || s == StatusCancelled
}

// Cause is the reason why an attempt did not end well, or the way in which it ended without failing.
type Cause string

const (
	CauseError   Cause = "error"   // the handler returned an error
	CausePanic   Cause = "panic"   // the handler panicked or called runtime.Goexit
	CauseTimeout Cause = "timeout" // the attempt took longer than its timeout
	CauseDecode  Cause = "decode"  // the payload does not fit the handler's type
	CauseCrash   Cause = "crash"   // the worker's process ended
	CauseLost    Cause = "lost"    // the lease ran out although the process may live
	CauseExpired Cause = "expired" // no worker had started the job by the time of StartBy

	// These attempts did not fail.
	CauseSnoozed   Cause = "snoozed"   // the handler put the job off
	CauseReleased  Cause = "released"  // the worker stopped, or released the job before it started
	CauseCancelled Cause = "cancelled" // the handler, or a person, ended the job
	CauseUnable    Cause = "unable"    // the worker could not run the job, but another may
)

// Failed reports whether the attempt failed: it was neither snoozed nor released nor cancelled, and its worker was able to run the job.
func (c Cause) Failed() bool {
	return c != CauseSnoozed && c != CauseReleased && c != CauseCancelled && c != CauseUnable
}
