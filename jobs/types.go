package jobs

import "github.com/sqluice/sqluice/jobs/jobtype"

// Job is a job, as its row holds it. A handler's copy holds the state at the claim, without the job's end. Zero times and
// empty strings stand for columns that are not set.
type Job = jobtype.Job

// Status is a stage in the life of a job: see docs/lifecycle.md.
type Status = jobtype.Status

const (
	StatusScheduled = jobtype.StatusScheduled // waits for its run_after
	StatusWaiting   = jobtype.StatusWaiting   // due, waits for room in its limit
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

// SettingSource is the source of a setting that a job may leave to its kind. Its text is job, kind or default.
type SettingSource = jobtype.SettingSource

const (
	SettingDefault = jobtype.SettingDefault // neither of the others has set it
	SettingOfKind  = jobtype.SettingOfKind  // the kind's declaration
	SettingOfJob   = jobtype.SettingOfJob   // an option of the enqueue, or an update
)

// Cause is the reason why an attempt did not end well, or the way in which it ended without failing.
type Cause = jobtype.Cause

const (
	CauseError   = jobtype.CauseError   // the handler returned an error
	CausePanic   = jobtype.CausePanic   // the handler panicked or called runtime.Goexit
	CauseTimeout = jobtype.CauseTimeout // the attempt took longer than its timeout
	CauseDecode  = jobtype.CauseDecode  // the payload does not fit the handler's type
	CauseCrash   = jobtype.CauseCrash   // the worker's process ended
	CauseLost    = jobtype.CauseLost    // the lease ran out although the process may live
	CauseExpired = jobtype.CauseExpired // no worker had started the job by the time of [StartBy]

	// These attempts did not fail.
	CauseSnoozed   = jobtype.CauseSnoozed   // the handler put the job off
	CauseReleased  = jobtype.CauseReleased  // the worker stopped, or released the job before it started
	CauseCancelled = jobtype.CauseCancelled // the handler, or a person, ended the job
	CauseUnable    = jobtype.CauseUnable    // the worker could not run the job: see [Unable]
)

// ScheduleInfo is a schedule, as its row holds it.
type ScheduleInfo = jobtype.Schedule

// The states of a schedule: see [ScheduleInfo.State].
const (
	ScheduleActive     = jobtype.ScheduleActive
	SchedulePaused     = jobtype.SchedulePaused
	ScheduleUndeclared = jobtype.ScheduleUndeclared
	ScheduleFaulty     = jobtype.ScheduleFaulty
)

// ScheduleTick is a time at which a schedule was due, with its outcome.
type ScheduleTick = jobtype.Tick

// TickOutcome is the outcome of a tick.
type TickOutcome = jobtype.TickOutcome

const (
	TickEnqueued = jobtype.TickEnqueued // a job was enqueued
	TickAsked    = jobtype.TickAsked    // the schedule was run at once: the time is that of the request
	TickOwed     = jobtype.TickOwed     // its job waits for the end of the last one
	TickSkipped  = jobtype.TickSkipped  // the job of an earlier tick had not ended, or it was owed when a later one came
	TickMissed   = jobtype.TickMissed   // no worker was there, and the schedule does not catch up
)
