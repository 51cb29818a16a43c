package jobs

import (
	"encoding/json"
	"math"
	"time"

	"github.com/sqluice/sqluice/db"
)

// Status is where a job is in its life: see docs/lifecycle.md.
type Status string

const (
	StatusScheduled Status = "scheduled" // waits for its run_after
	StatusPending   Status = "pending"   // due, waits for a worker
	StatusRunning   Status = "running"   // held by a worker
	StatusDone      Status = "done"      // ended well
	StatusFailed    Status = "failed"    // its attempts are used up, or it was discarded; kept for people
	StatusCancelled Status = "cancelled" // ended by request
)

// In the order of a job's life.
var statuses = [...]Status{StatusScheduled, StatusPending, StatusRunning, StatusDone, StatusFailed, StatusCancelled}

// Statuses returns all statuses in the order of a job's life.
func Statuses() []Status { return append([]Status(nil), statuses[:]...) }

// ParseStatus returns the status with this name, or an [InvalidError] that lists those that exist.
func ParseStatus(name string) (Status, error) {
	for _, s := range statuses {
		if string(s) == name {
			return s, nil
		}
	}
	return "", invalid("status", quote(name), "be scheduled, pending, running, done, failed or cancelled")
}

// Final reports whether a job with this status has ended.
func (s Status) Final() bool {
	return s == StatusDone || s == StatusFailed || s == StatusCancelled
}

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

// AttemptsLeft is how many more attempts the job has after this one before it fails.
func (j Job) AttemptsLeft() int { return max(0, j.MaxAttempts-(j.Attempt-j.Uncounted)) }

func jobFromRow(r db.Job) Job {
	return Job{
		ID: r.ID, Kind: r.Kind, Queue: r.Queue, Payload: json.RawMessage(r.Payload), Status: Status(r.Status),
		Priority: int(r.Priority), RunAfter: fromMicros(r.RunAfter),
		Attempt: int(r.Attempt), Uncounted: int(r.Uncounted), MaxAttempts: int(r.MaxAttempts), Crashes: int(r.Crashes),
		Timeout: duration(r.Timeout), UniqueKey: deref(r.UniqueKey), RequestID: deref(r.RequestID),
		UserID: deref(r.UserID), Tags: tagsFromColumn(r.Tags), Metadata: rawFromColumn(r.Metadata),
		Progress: rawFromColumn(r.Progress), Result: rawFromColumn(r.Result), LastError: deref(r.LastError),
		WorkerID: deref(r.WorkerID), LeaseUntil: fromMicros(deref(r.LeaseUntil)),
		CancelRequested: fromMicros(deref(r.CancelRequestedAt)), CreatedAt: fromMicros(r.CreatedAt),
		StartedAt: fromMicros(deref(r.StartedAt)), FinishedAt: fromMicros(deref(r.FinishedAt)),
		UpdatedAt: fromMicros(r.UpdatedAt),
	}
}

func jobFromClaim(r db.ClaimJobsRow, queue string, worker int64, started, lease time.Time) Job {
	return Job{
		ID: r.ID, Kind: r.Kind, Queue: queue, Payload: json.RawMessage(r.Payload), Status: StatusRunning,
		Priority: int(r.Priority), RunAfter: fromMicros(r.RunAfter),
		Attempt: int(r.Attempt), Uncounted: int(r.Uncounted), MaxAttempts: int(r.MaxAttempts), Crashes: int(r.Crashes),
		Timeout: duration(r.Timeout), UniqueKey: deref(r.UniqueKey), RequestID: deref(r.RequestID),
		UserID: deref(r.UserID), Tags: tagsFromColumn(r.Tags), Metadata: rawFromColumn(r.Metadata),
		WorkerID: worker, LeaseUntil: lease, CreatedAt: fromMicros(r.CreatedAt), StartedAt: started, UpdatedAt: started,
	}
}

// Times in the database are unix microseconds, UTC; 0 stands for no time.

func toMicros(t time.Time) int64 { return t.UnixMicro() }

// The first and the last time that RFC 3339, and so JSON, can write: the years 0 and 9999.
const (
	firstMicros = -62_167_219_200_000_000
	lastMicros  = 253_402_300_799_999_999
)

// fromMicros takes what another program wrote beyond the range, such as nanoseconds, for the first or last time there is.
func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(min(max(us, firstMicros), lastMicros)).UTC()
}

// duration is a number of microseconds; what another program wrote beyond the range is the longest there is.
func duration(us int64) time.Duration {
	return time.Duration(min(us, int64(math.MaxInt64/time.Microsecond))) * time.Microsecond
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// optional turns the zero value into NULL.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func rawFromColumn(s *string) json.RawMessage {
	if s == nil {
		return nil
	}
	return json.RawMessage(*s)
}

// tagsFromColumn reads a JSON list of strings; what another program put there instead is shown as it is.
func tagsFromColumn(s *string) []string {
	if s == nil {
		return nil
	}
	var tags []string
	if err := json.Unmarshal([]byte(*s), &tags); err != nil {
		return []string{*s}
	}
	return tags
}

// due is since when the job has been claimable: a plain INSERT may give it a time long ago.
func (j *Job) due() time.Time {
	if j.RunAfter.Before(j.CreatedAt) {
		return j.CreatedAt
	}
	return j.RunAfter
}
