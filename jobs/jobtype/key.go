package jobtype

import "log/slog"

// Key is a key with which jobs are encrypted.
type Key struct {
	ID     string // stands beside each value that is encrypted with the key: letters, digits, dots, dashes and underscores
	Secret []byte // [KeySize] random bytes
}

// LogValue keeps the secret out of logs.
func (k Key) LogValue() slog.Value { return slog.StringValue("key " + k.ID) }

// String keeps the secret out of texts.
func (k Key) String() string { return "key " + k.ID }

// GoString keeps the secret out of texts.
func (k Key) GoString() string { return "key " + k.ID }
