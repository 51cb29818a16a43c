package jobs

import "github.com/sqluice/sqluice/jobs/jobtype"

// Status is where a job is in its life: see docs/lifecycle.md.
type Status = jobtype.Status

const (
	StatusScheduled = jobtype.StatusScheduled // waits for its run_after
	StatusPending   = jobtype.StatusPending   // due, waits for a worker
	StatusRunning   = jobtype.StatusRunning   // held by a worker
	StatusDone      = jobtype.StatusDone      // ended well
	StatusFailed    = jobtype.StatusFailed    // its attempts are used up, or it was discarded; kept for people
	StatusCancelled = jobtype.StatusCancelled // ended by request
)

// Statuses returns all statuses in the order of a job's life.
func Statuses() []Status { return jobtype.Statuses() }

// ParseStatus returns the status with this name, or an [InvalidError] that lists those that exist.
func ParseStatus(name string) (Status, error) { return jobtype.ParseStatus(name) }

// Cause is why an attempt did not end well.
type Cause = jobtype.Cause

const (
	CauseError   = jobtype.CauseError   // the handler returned an error
	CausePanic   = jobtype.CausePanic   // the handler panicked or called runtime.Goexit
	CauseTimeout = jobtype.CauseTimeout // the attempt took longer than its timeout
	CauseDecode  = jobtype.CauseDecode  // the payload is not of the type that the handler takes
	CauseCrash   = jobtype.CauseCrash   // the worker's process ended
	CauseLost    = jobtype.CauseLost    // the lease ran out although the process may live
)
