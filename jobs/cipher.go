package jobs

import (
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Key is a key with which jobs are encrypted: see [NewCipher].
type Key = jobtype.Key

// Encrypted replaces an encrypted value, as a JSON string, in the results of a client that is not [Client.Revealed], or that does not have
// the key. For the text of an error it has a hash, as in [encrypted 0123456789abcdef]: equal errors of a kind have equal hashes.
const Encrypted = jobtype.Encrypted

// Forgotten is the payload, as a JSON string, of a job whose user was forgotten (see Forget of package jobs/inspect),
// or that was kept long enough and is the newest.
const Forgotten = jobtype.Forgotten

// Cipher encrypts the data of jobs: see [WithCipher]. Make one with [NewCipher]; the zero value encrypts nothing and has no keys. It may be
// used concurrently, by any number of clients.
type Cipher struct{ cipher *cipher.Cipher }

// NewCipher returns a Cipher that encrypts with the first key, and decrypts with the key with which a value was encrypted. The error is
// an [InvalidError] without a secret.
//
// To change the key, give all programs the new key behind the old one, then before it, and then run `sqluice rekey`, or Rekey of package
// jobs/inspect: after that the old key can go.
func NewCipher(keys ...Key) (Cipher, error) {
	made, err := cipher.New(keys)
	return core.Result(Cipher{made}, err, "new cipher")
}

// WithCipher encrypts the data of the client's jobs before the database gets it: payloads, also those of schedules, results, progress, and
// the errors and stacks of attempts. Handlers of the client's runners get decrypted payloads, and so do reads by [Client.Revealed]; all
// others, such as the dashboard, the command and plain SQL, see [Encrypted] or the stored value. So a program that reads a result, as after
// [Client.Wait], or the progress of an earlier attempt, must read it by Revealed. Without a cipher a client adds plain jobs, and runs
// those; both sorts may be in one queue.
//
// A runner that does not have a job's key releases the job for others, as with [Unable]; an attempt whose payload was changed, or has the
// id of another key, fails with the cause decode. An application can test the cause of an error with errors.Is and [ErrKey]. The runner's
// log and observers get [Encrypted] with a hash instead of an error.
//
// Kinds, queues, unique keys, request ids, user ids, tags and metadata are not encrypted, and neither is the length of a value. It is
// visible which errors, and which payloads of schedules, of one kind are equal. [MaxPayload] limits the plain value, not the stored one.
//
// Each value is encrypted by AES-256-GCM with a separate key, derived by HKDF-SHA256 (RFC 5869) from the secret and a salt, with the kind
// and the column as associated data: a value that was moved to another kind cannot be decrypted.
func WithCipher(c Cipher) ClientOption {
	return func(client *Client) {
		scope := *client.scope()
		scope.Cipher = c.cipher
		client.sealed = engine.Seal(scope)
	}
}
