// Package newjob reads jobs that are written as JSON: in the bodies of the HTTP API, and in the lines of the command's "enqueue --items".
package newjob

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/sqluice/sqluice/internal/uniquemode"
	"github.com/sqluice/sqluice/jobs"
)

// MaxBytes is the largest size of a job in bytes: its payload and metadata, and room for the rest.
const MaxBytes = 2*jobs.MaxPayload + 64<<10

// Common has the fields of a job that is enqueued at once or by a schedule. Fields that are left out have the library's defaults.
type Common struct {
	Kind        string          `json:"kind"`
	Payload     json.RawMessage `json:"payload"` // {} if left out
	Queue       *string         `json:"queue"`
	Priority    *int            `json:"priority"`
	MaxAttempts *int            `json:"max_attempts"`
	Timeout     *time.Duration  `json:"timeout_ns"`
	StartWithin *time.Duration  `json:"start_within_ns"`
	UserID      *string         `json:"user_id"`
	Tags        []string        `json:"tags"`
	Metadata    json.RawMessage `json:"metadata"`
}

// Options returns the options for the fields that are set.
func (c Common) Options() []jobs.EnqueueOption {
	opts := []jobs.EnqueueOption{jobs.Tags(c.Tags...)}
	opts = With(opts, c.Queue, jobs.Queue)
	opts = With(opts, c.Priority, jobs.Priority)
	opts = With(opts, c.MaxAttempts, jobs.MaxAttempts)
	opts = With(opts, c.Timeout, jobs.Timeout)
	opts = With(opts, c.StartWithin, jobs.StartWithin)
	opts = With(opts, c.UserID, jobs.UserID)
	if c.Metadata != nil {
		opts = append(opts, jobs.Metadata(c.Metadata))
	}
	return opts
}

// Args returns the payload, or {} if it is left out.
func (c Common) Args() json.RawMessage {
	if c.Payload == nil {
		return json.RawMessage("{}")
	}
	return c.Payload
}

// Job has the fields of a job that is enqueued at once.
type Job struct {
	Common
	RunAfter   *time.Time     `json:"run_after"`
	Delay      *time.Duration `json:"delay_ns"`
	RequestID  *string        `json:"request_id"`
	LimitKey   *string        `json:"limit_key"`
	StartBy    *time.Time     `json:"start_by"`
	UniqueMode *string        `json:"unique_mode"`
	Debounce   *time.Duration `json:"debounce_ns"`
	AtMost     *time.Duration `json:"at_most_ns"`
	UniqueFor  *time.Duration `json:"unique_for_ns"`
	UniqueKey  *string        `json:"unique_key"`
}

// Options returns the options for the fields that are set, and an InvalidError for fields that exclude each other.
func (j Job) Options() ([]jobs.EnqueueOption, error) {
	if j.RunAfter != nil && j.Delay != nil {
		return nil, &jobs.InvalidError{Field: "delay_ns", Must: "not be given together with run_after"}
	}
	if j.StartBy != nil && j.StartWithin != nil {
		return nil, &jobs.InvalidError{Field: "start_within_ns", Must: "not be given together with start_by"}
	}
	// 0 would select another way of being unique.
	for _, period := range []struct {
		field string
		value *time.Duration
	}{{"debounce_ns", j.Debounce}, {"unique_for_ns", j.UniqueFor}} {
		if period.value != nil && *period.value == 0 {
			return nil, &jobs.InvalidError{Field: period.field, Value: "0", Must: "be at least 1000; leave it out for none"}
		}
	}
	opts := j.Common.Options()
	opts = With(opts, j.RunAfter, jobs.At)
	opts = With(opts, j.Delay, jobs.In)
	opts = With(opts, j.StartBy, jobs.StartBy)
	opts = With(opts, j.RequestID, jobs.RequestID)
	opts = With(opts, j.LimitKey, jobs.LimitKey)
	unique, err := uniquemode.Choice{
		Key: value(j.UniqueKey), Mode: value(j.UniqueMode), Debounce: value(j.Debounce), AtMost: value(j.AtMost), For: value(j.UniqueFor),
	}.Option()
	if unique != nil {
		opts = append(opts, unique)
	}
	return opts, err
}

// Item reads one of several jobs.
func Item(text []byte) (jobs.Item, error) {
	var j Job
	if err := Decode(bytes.NewReader(text), "job", &j); err != nil {
		return jobs.Item{}, err
	}
	if err := jobs.ValidateName("kind", j.Kind); err != nil {
		return jobs.Item{}, err
	}
	opts, err := j.Options()
	return jobs.NewItem(j.Kind, j.Args(), opts...), err
}

// Receipt describes the result of an enqueue.
type Receipt struct {
	ID      int64 `json:"id"`
	Existed bool  `json:"existed"` // a job with the same unique key or request id existed, and none was added

	Replaced bool `json:"replaced,omitempty"` // the existing job now has the payload and the options of this one
	Dropped  bool `json:"dropped,omitempty"`  // no job was added, and the id is 0: as many of the limit key wait as may
}

// Receipts returns the results of several enqueues.
func Receipts(list []jobs.Receipt) []Receipt {
	out := make([]Receipt, len(list))
	for i, r := range list {
		out[i] = Receipt(r)
	}
	return out
}

// value returns the value of a field, and the zero value of one that is not set.
func value[T any](field *T) (v T) {
	if field != nil {
		v = *field
	}
	return v
}

// With appends the option for a value, unless it is nil.
func With[T, O any](opts []O, value *T, option func(T) O) []O {
	if value == nil {
		return opts
	}
	return append(opts, option(*value))
}
