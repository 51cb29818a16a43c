package jobtype

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// Job is a job, as its row holds it. A handler's copy holds the state at the claim, without the job's end. Zero times
// and empty strings stand for columns that are not set.
type Job struct {
	ID       int64           `json:"id"`
	Kind     string          `json:"kind"`
	Queue    string          `json:"queue"`
	Payload  json.RawMessage `json:"payload"`
	Status   Status          `json:"status"`
	Priority int             `json:"priority"` // higher runs first
	RunAfter time.Time       `json:"run_after"`
	StartBy  time.Time       `json:"start_by,omitzero"` // when not started by then, it ends as cancelled

	Attempt     int           `json:"attempt"`      // number of claims; with WorkerID it is the fence
	Uncounted   int           `json:"uncounted"`    // attempts that do not count: snoozed or released
	MaxAttempts int           `json:"max_attempts"` // counted attempts before the job fails
	Crashes     int           `json:"crashes"`      // attempts in which the worker's process died
	Timeout     time.Duration `json:"timeout_ns"`   // the limit of one attempt; 0 means the runner's, if it has one

	// The sources of the two: the job itself, its kind, or none.
	MaxAttemptsFrom SettingSource `json:"max_attempts_from"`
	TimeoutFrom     SettingSource `json:"timeout_from"`

	UniqueKey string          `json:"unique_key,omitempty"`
	Successor bool            `json:"successor,omitempty"` // it waits for the end of the live job with its unique key
	LimitKey  *string         `json:"limit_key,omitempty"` // the limits of its kind count it under this key; nil: they do not count it
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

	holder Holder // set in a handler's copy
}

// Counted returns the number of attempts that count, the current one included: all but those that were snoozed or released.
func (j Job) Counted() int { return j.Attempt - j.Uncounted }

// AttemptsLeft returns the number of attempts that the job has after this one before it fails.
func (j Job) AttemptsLeft() int { return max(0, j.MaxAttempts-j.Counted()) }

// Due returns the time since which the job has been claimable: a plain INSERT may give it a time long ago.
func (j *Job) Due() time.Time {
	if j.RunAfter.Before(j.CreatedAt) {
		return j.CreatedAt
	}
	return j.RunAfter
}

// IdempotencyKey returns a key by which another service identifies the work that the job asks for: the same in each attempt, and
// different for every other job, also of another database. It has letters, digits and underscores, at most 64. A replaced or updated
// payload gives the job another key, so that a service that has done the work for the former payload does not skip the new one. It has a
// part of the payload's SHA-256, by which a payload of few possible values can be guessed.
func (j Job) IdempotencyKey() string {
	sum := sha256.Sum256(j.Payload)
	return fmt.Sprintf("job_%d_%d_%x", j.ID, j.CreatedAt.UnixMicro(), sum[:8])
}

// Holder is the attempt that owns a handler's copy of a job. Its methods implement those of Job with the same names,
// and jobs.CompleteTx.
type Holder interface {
	SetResult(v any) error
	SetProgress(ctx context.Context, v any) error
	Withhold(ctx context.Context, text string) (string, error)
	CompleteTx(ctx context.Context, tx Tx, result any) error
}

// SetHolder makes a job the copy of an attempt's handler.
func (j *Job) SetHolder(h Holder) { j.holder = h }

// Holder returns the attempt that claimed the job; nil outside a handler.
func (j *Job) Holder() Holder { return j.holder }

// SetResult sets the result that the job will have when its handler returns nil: any value that encodes to JSON of at
// most [MaxPayload] bytes. The last call takes effect. It returns an error outside a handler.
func (j Job) SetResult(v any) error {
	if j.holder == nil {
		return ErrNotHeld("set the result of", j.ID)
	}
	return j.holder.SetResult(v)
}

// SetProgress records the progress of the attempt, as any value that encodes to JSON; others see it at once. The error is [ErrLeaseLost]
// when another worker has taken the job. It returns an error outside a handler. While the handler has an open transaction that has written,
// on SQLite, the call waits five seconds for that transaction's lock, and fails with [ErrBusy]: call it before or after.
func (j Job) SetProgress(ctx context.Context, v any) error {
	if j.holder == nil {
		return ErrNotHeld("set the progress of", j.ID)
	}
	return j.holder.SetProgress(ctx, v)
}

// Withhold returns a text about the attempt, such as its handler's error, as it would be recorded: without the values that
// the kind marks as sensitive, and no longer than the record. It is for middleware that passes the text on. It reads the
// marks from the database. With an error, as outside a handler, the text is [Redacted]. Give it whole texts: of a text that
// was shortened before, it recognises a part of a value only before an ellipsis.
func (j Job) Withhold(ctx context.Context, text string) (string, error) {
	if j.holder == nil {
		return Redacted, ErrNotHeld("withhold a text about", j.ID)
	}
	return j.holder.Withhold(ctx, text)
}

// ErrNotHeld returns the error of a method that was called outside a handler.
func ErrNotHeld(verb string, id int64) error {
	return fmt.Errorf("%s job %d: only the Job that a handler was called with can do this", verb, id)
}
