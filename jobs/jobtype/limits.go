package jobtype

import (
	"math"
	"time"
)

// The bounds of what an enqueue takes; the schema's CHECKs hold the same.
const (
	MinPriority        = math.MinInt16
	MaxPriority        = math.MaxInt16
	MaxAttemptsLimit   = math.MaxInt16
	MaxNameLength      = 200  // of kinds, queues and workers, in characters
	MaxKeyLength       = 1000 // of unique keys, request ids and user ids, in characters
	MaxKeyBytes        = 2600 // of a unique key or request id together with the kind, in bytes: what PostgreSQL's indexes take
	MaxTags            = 50
	DefaultQueue       = "default"
	DefaultMaxAttempts = 25

	// PastTolerance is how far in the past a time given to At may lie: clocks differ and calls take time.
	PastTolerance = time.Minute
)

const (
	// MaxPayload is the size of the largest payload, result, progress or metadata, in bytes.
	MaxPayload = 1 << 20

	// MaxDepth is how deep arrays and objects may be nested in them. SQLite's JSON functions stop at 1,000 and
	// PostgreSQL's at a depth that its stack size gives; this is far below both.
	MaxDepth = 200
)

const (
	// Redacted stands, as a JSON string, in place of what only a handler sees.
	Redacted = "[redacted]"

	// MaxSensitive is how many fields of a kind can be marked one by one.
	MaxSensitive = 100
)

const (
	// Encrypted stands in place of an encrypted value, as a JSON string. That of the text of an error has a hash before the bracket.
	Encrypted = "[encrypted]"

	// Forgotten is the payload, as a JSON string, of a job whose user was forgotten, or of the newest job when it was kept
	// long enough.
	Forgotten = "[forgotten]"

	// EncryptedJSON and ForgottenJSON are these two as JSON strings.
	EncryptedJSON = `"` + Encrypted + `"`
	ForgottenJSON = `"` + Forgotten + `"`

	// KeySize is how many bytes the secret of a key has.
	KeySize = 32

	// MaxKeyID is how many characters the id of a key has at most.
	MaxKeyID = 64
)
