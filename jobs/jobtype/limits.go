package jobtype

import (
	"math"
	"time"
)

// The bounds of an enqueue's values; the schema's CHECKs have the same.
const (
	MinPriority        = math.MinInt16
	MaxPriority        = math.MaxInt16
	MaxAttemptsLimit   = math.MaxInt16
	MaxNameLength      = 200  // the length of names of kinds, queues and workers, in characters
	MaxKeyLength       = 1000 // the length of unique keys, request ids and user ids, in characters
	MaxKeyBytes        = 2600 // the size of a unique key or request id with the kind, in bytes: PostgreSQL's index limit
	MaxLimitKeyLength  = 200  // the length of limit keys, in characters: they are indexed with the names of a kind and a queue
	MaxTags            = 50
	DefaultQueue       = "default"
	DefaultMaxAttempts = 25

	// PastTolerance is the longest time in the past for a time given to At: clocks differ and calls take time.
	PastTolerance = time.Minute
)

const (
	// MaxPayload is the largest size of a payload, result, progress or metadata, in bytes.
	MaxPayload = 1 << 20

	// MaxDepth is the deepest nesting of arrays and objects in them. SQLite's JSON functions stop at 1,000 and
	// PostgreSQL's at a depth that its stack size gives; this is far below both.
	MaxDepth = 200
)

const (
	// Redacted replaces, as a JSON string, a value that only a handler may see.
	Redacted = "[redacted]"

	// MaxSensitive is the largest number of fields of a kind that can be marked one by one.
	MaxSensitive = 100
)

const (
	// Encrypted replaces an encrypted value, as a JSON string. For the text of an error it has a hash before the bracket.
	Encrypted = "[encrypted]"

	// Forgotten is the payload, as a JSON string, of a job whose user was forgotten, or of the newest job when it was kept
	// long enough.
	Forgotten = "[forgotten]"

	// EncryptedJSON and ForgottenJSON are these two as JSON strings.
	EncryptedJSON = `"` + Encrypted + `"`
	ForgottenJSON = `"` + Forgotten + `"`

	// KeySize is the length of a key's secret in bytes.
	KeySize = 32

	// MaxKeyID is the longest id of a key in characters.
	MaxKeyID = 64
)
