package jobs

import (
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// The bounds of an enqueue's values; the schema's CHECKs have the same.
const (
	MinPriority        = jobtype.MinPriority
	MaxPriority        = jobtype.MaxPriority
	MaxAttemptsLimit   = jobtype.MaxAttemptsLimit
	MaxNameLength      = jobtype.MaxNameLength     // the length of names of kinds, queues and workers, in characters
	MaxKeyLength       = jobtype.MaxKeyLength      // the length of unique keys, request ids and user ids, in characters
	MaxKeyBytes        = jobtype.MaxKeyBytes       // the size of a unique key or request id with the kind, in bytes: PostgreSQL's index limit
	MaxLimitKeyLength  = jobtype.MaxLimitKeyLength // the length of limit keys, in characters
	MaxTags            = jobtype.MaxTags
	DefaultQueue       = jobtype.DefaultQueue
	DefaultMaxAttempts = jobtype.DefaultMaxAttempts

	// PastTolerance is the longest time in the past for a time given to At: clocks differ and calls take time.
	PastTolerance = jobtype.PastTolerance
)

const (
	// MaxPayload is the largest size of a payload, result, progress or metadata, in bytes.
	MaxPayload = jobtype.MaxPayload

	// MaxDepth is the deepest nesting of arrays and objects in them. SQLite's JSON functions stop at 1,000 and
	// PostgreSQL's at a depth that its stack size gives; this is far below both.
	MaxDepth = jobtype.MaxDepth
)

const (
	// Redacted replaces, as a JSON string, a value that only a handler may see: see [Kind.Sensitive].
	Redacted = jobtype.Redacted

	// MaxSensitive is the largest number of fields of a kind that can be marked one by one.
	MaxSensitive = jobtype.MaxSensitive
)

// ValidateName returns an [InvalidError] for the field unless name is valid for a kind, queue, worker or tag: valid
// UTF-8, 1 to [MaxNameLength] characters, none of them a control character.
func ValidateName(field, name string) error { return core.ValidateName(field, name) }

// ValidatePayload returns an [InvalidError] unless data is JSON that every engine stores and returns byte for byte:
// valid UTF-8, one JSON value, no NUL (PostgreSQL has none in text), no lone surrogate, at most [MaxPayload] bytes and
// [MaxDepth] levels.
func ValidatePayload(data []byte) error { return core.ValidateJSON("payload", data) }
