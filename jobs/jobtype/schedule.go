package jobtype

import (
	"encoding/json"
	"time"
)

// Schedule is a schedule, as its row holds it. Zero times stand for columns that are not set.
type Schedule struct {
	Name     string          `json:"name"`
	Kind     string          `json:"kind"`
	Queue    string          `json:"queue"`
	Payload  json.RawMessage `json:"payload"`
	Options  json.RawMessage `json:"options"` // other columns of its jobs, by name
	Spec     string          `json:"spec"`    // a cron specification, or "@every 90s"
	Zone     string          `json:"zone"`
	CatchUp  string          `json:"catch_up"` // "latest", "none", or "all:" and a number
	Overlap  string          `json:"overlap"`  // "allow", "skip", "replace" or "after"
	InCode   bool            `json:"in_code"`  // declared in code, and due only while a live worker declares it
	Declared bool            `json:"declared"` // a live worker declares it, or it needs no declaration
	Start    time.Time       `json:"start_at"` // "@every" counts from it

	Unhandled bool `json:"unhandled,omitempty"` // no live worker takes its kind from its queue: the jobs that it enqueues wait

	Next    time.Time `json:"next_at,omitzero"`      // the next tick; not set before a worker has found it
	Owed    time.Time `json:"owed_at,omitzero"`      // a tick whose job waits for the end of the last one
	Last    time.Time `json:"last_at,omitzero"`      // the tick of the last job
	LastJob int64     `json:"last_job_id,omitempty"` // the last job, which may have been removed since
	Paused  time.Time `json:"paused_at,omitzero"`    // start of its pause
	Fault   string    `json:"fault,omitempty"`       // the reason why it is not due at all
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

// The states of a schedule.
const (
	ScheduleActive     = "active"
	SchedulePaused     = "paused"
	ScheduleUndeclared = "undeclared" // no live worker declares it
	ScheduleFaulty     = "faulty"     // a worker could not enqueue its job: it is tried again
)

// State returns whether the schedule is due by its times, and if not, why.
func (s Schedule) State() string {
	switch {
	case s.Fault != "":
		return ScheduleFaulty
	case !s.Paused.IsZero():
		return SchedulePaused
	case !s.Declared:
		return ScheduleUndeclared
	}
	return ScheduleActive
}

// TickOutcome is the outcome of a tick.
type TickOutcome string

const (
	TickEnqueued TickOutcome = "enqueued" // a job was enqueued
	TickAsked    TickOutcome = "asked"    // the schedule was run at once: the time is that of the request
	TickOwed     TickOutcome = "owed"     // its job waits for the end of the last one
	TickSkipped  TickOutcome = "skipped"  // the job of an earlier tick had not ended, or it was owed when a later one came
	TickMissed   TickOutcome = "missed"   // no worker was there, and the schedule does not catch up
)

// Tick is a time at which a schedule was due, with its outcome.
type Tick struct {
	Tick        time.Time   `json:"tick"`
	Outcome     TickOutcome `json:"outcome"`
	MissedSince time.Time   `json:"missed_since,omitzero"` // the first of the earlier ticks that enqueued no job
	Job         int64       `json:"job_id,omitempty"`
	Replaced    int64       `json:"replaced_id,omitempty"` // the job cancelled for this tick
	At          time.Time   `json:"at"`                    // when the outcome was recorded
}

// TickField is the field of a job's metadata that holds its [JobTick].
const TickField = "sqluice_schedule"

// JobTick is the tick for which a job was enqueued.
type JobTick struct {
	Schedule string    `json:"name"`
	Tick     time.Time `json:"tick"`
}

// Tick returns the time at which the job's schedule was due, which may be long before the job runs, and the zero time when no
// schedule enqueued the job.
func (j Job) Tick() time.Time { return j.scheduleTick().Tick }

// Schedule returns the name of the schedule that enqueued the job, and "" when none did.
func (j Job) Schedule() string { return j.scheduleTick().Schedule }

// scheduleTick returns zero if the metadata hold no tick, or are withheld.
func (j Job) scheduleTick() JobTick {
	var metadata struct {
		Tick JobTick `json:"sqluice_schedule"`
	}
	if len(j.Metadata) == 0 || json.Unmarshal(j.Metadata, &metadata) != nil {
		return JobTick{}
	}
	return metadata.Tick
}
