package jobs

import (
	"encoding/json"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// Job is one job as its row has it. A handler's copy has what is known at the claim: its end is not.
// Zero times and empty strings stand for columns that are not set.
type Job struct {
	ID       int64           `json:"id"`
	Kind     string          `json:"kind"`
	Queue    string          `json:"queue"`
	Payload  json.RawMessage `json:"payload"`
	Status   Status          `json:"status"`
	Priority int             `json:"priority"` // higher runs first
	RunAfter time.Time       `json:"run_after"`

	Attempt     int           `json:"attempt"`      // how often the job was claimed; with WorkerID it is the fence
	Uncounted   int           `json:"uncounted"`    // attempts that do not count: snoozed or released
	MaxAttempts int           `json:"max_attempts"` // counted attempts before the job fails
	Crashes     int           `json:"crashes"`      // attempts in which the worker's process died
	Timeout     time.Duration `json:"timeout_ns"`   // of one attempt; 0 means the kind's own

	UniqueKey string          `json:"unique_key,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
	UserID    string          `json:"user_id,omitempty"`
	Tags      []string        `json:"tags,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Progress  json.RawMessage `json:"progress,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	LastError string          `json:"last_error,omitempty"`

	WorkerID        int64     `json:"worker_id,omitempty"`
	LeaseUntil      time.Time `json:"lease_until,omitzero"`
	CancelRequested time.Time `json:"cancel_requested_at,omitzero"`
	CreatedAt       time.Time `json:"created_at"`
	StartedAt       time.Time `json:"started_at,omitzero"`
	FinishedAt      time.Time `json:"finished_at,omitzero"`
	UpdatedAt       time.Time `json:"updated_at"`

	held *attempt // set in a handler's copy
}

// Counted returns how many attempts of the job count, the current one included: all but those that were snoozed or released.
func (j Job) Counted() int { return j.Attempt - j.Uncounted }

// AttemptsLeft returns how many more attempts the job has after this one before it fails.
func (j Job) AttemptsLeft() int { return max(0, j.MaxAttempts-j.Counted()) }

// FromRow returns a row of the table jobs as a Job.
func FromRow(r db.Job) Job {
	return Job{
		ID: r.ID, Kind: r.Kind, Queue: r.Queue, Payload: core.JSON(r.Payload), Status: Status(r.Status),
		Priority: int(r.Priority), RunAfter: core.Time(r.RunAfter),
		Attempt: int(r.Attempt), Uncounted: int(r.Uncounted), MaxAttempts: int(r.MaxAttempts), Crashes: int(r.Crashes),
		Timeout: core.Duration(r.Timeout), UniqueKey: core.Deref(r.UniqueKey), RequestID: core.Deref(r.RequestID),
		UserID: core.Deref(r.UserID), Tags: core.Tags(r.Tags), Metadata: core.Raw(r.Metadata),
		Progress: core.Raw(r.Progress), Result: core.Raw(r.Result), LastError: core.Deref(r.LastError),
		WorkerID: core.Deref(r.WorkerID), LeaseUntil: core.Time(core.Deref(r.LeaseUntil)),
		CancelRequested: core.Time(core.Deref(r.CancelRequestedAt)), CreatedAt: core.Time(r.CreatedAt),
		StartedAt: core.Time(core.Deref(r.StartedAt)), FinishedAt: core.Time(core.Deref(r.FinishedAt)),
		UpdatedAt: core.Time(r.UpdatedAt),
	}
}

func jobFromClaim(r db.ClaimJobsRow, queue string, worker int64, started, lease time.Time) Job {
	return Job{
		ID: r.ID, Kind: r.Kind, Queue: queue, Payload: json.RawMessage(r.Payload), Status: StatusRunning,
		Priority: int(r.Priority), RunAfter: core.Time(r.RunAfter),
		Attempt: int(r.Attempt), Uncounted: int(r.Uncounted), MaxAttempts: int(r.MaxAttempts), Crashes: int(r.Crashes),
		Timeout: core.Duration(r.Timeout), UniqueKey: core.Deref(r.UniqueKey), RequestID: core.Deref(r.RequestID),
		UserID: core.Deref(r.UserID), Tags: core.Tags(r.Tags), Metadata: core.Raw(r.Metadata),
		WorkerID: worker, LeaseUntil: lease, CreatedAt: core.Time(r.CreatedAt), StartedAt: started, UpdatedAt: started,
	}
}

// due is since when the job has been claimable: a plain INSERT may give it a time long ago.
func (j *Job) due() time.Time {
	if j.RunAfter.Before(j.CreatedAt) {
		return j.CreatedAt
	}
	return j.RunAfter
}
