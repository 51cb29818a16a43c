package cipher

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Column names the column that holds a value. Encryption binds a value to its column and to its job's kind: a value that was moved to
// another kind or column cannot be decrypted.
type Column string

// The columns that are encrypted. A job's last error and the errors of its attempts are one column here, since some are copied.
const (
	Payload  Column = "payload"
	Result   Column = "result"
	Progress Column = "progress"
	Error    Column = "error"
	Stack    Column = "stack"
)

// prefix begins each encrypted value. The number of its form, the key's id and, in base64, the salt and the sealed value follow, each
// after a colon. [form] describes the forms.
const prefix = "sqluice:encrypted:"

// Cipher encrypts with one key, and decrypts with any of its keys. It is not changed after it was made, and may be used concurrently. A nil
// Cipher encrypts nothing and has no keys.
type Cipher struct {
	current string
	keys    map[string]key
}

// key holds the keys that are derived from one secret.
type key struct {
	values []byte // the keys of single values are derived from it
	salts  []byte // the salts of texts are computed with it
	form   form   // the form in which it encrypts
}

// saltSize is the length of a salt in bytes: long enough that random salts never collide.
const saltSize = sha256.Size

// New returns a Cipher that encrypts with the first key.
func New(keys []jobtype.Key) (*Cipher, error) {
	if len(keys) == 0 {
		return nil, jobtype.NewInvalidError("keys", "", "be at least one")
	}
	c := &Cipher{current: keys[0].ID, keys: map[string]key{}}
	for i, k := range keys {
		if err := check(k); err != nil {
			return nil, err
		}
		if _, there := c.keys[k.ID]; there {
			return nil, jobtype.NewInvalidError("id of a key", strconv.Quote(k.ID), "be given to one key only")
		}
		if alike := slices.IndexFunc(keys[:i], func(other jobtype.Key) bool { return bytes.Equal(other.Secret, k.Secret) }); alike >= 0 {
			return nil, jobtype.NewInvalidError("secret of key "+strconv.Quote(k.ID), "", "not be that of key "+strconv.Quote(keys[alike].ID))
		}
		made, err := derive(k.Secret)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", strconv.Quote(k.ID), err)
		}
		c.keys[k.ID] = made
	}
	return c, nil
}

// check returns an InvalidError for a key that is not valid. The error does not contain the secret.
func check(k jobtype.Key) error {
	if k.ID == "" || len(k.ID) > jobtype.MaxKeyID || strings.Trim(k.ID, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
		return jobtype.NewInvalidError("id of a key", strconv.Quote(k.ID), fmt.Sprintf("be ASCII letters, digits, dots, dashes and underscores, from 1 to %d", jobtype.MaxKeyID))
	}
	if len(k.Secret) != jobtype.KeySize {
		return jobtype.NewInvalidError("secret of key "+strconv.Quote(k.ID), fmt.Sprintf("of %d bytes", len(k.Secret)), fmt.Sprintf("be of %d bytes", jobtype.KeySize))
	}
	return nil
}

// derive derives a key from a secret.
func derive(secret []byte) (k key, err error) {
	if k.values, err = hkdf.Key(sha256.New, secret, nil, "sqluice values", sha256.Size); err == nil {
		k.salts, err = hkdf.Key(sha256.New, secret, nil, "sqluice salts", sha256.Size)
	}
	if err == nil {
		k.form, err = allowedForm(k)
	}
	return k, err
}

// JSON returns the JSON string that is stored in place of a JSON value. Its salt is random.
func (c *Cipher) JSON(kind string, column Column, value []byte) (string, error) {
	if c == nil {
		return string(value), nil
	}
	salt := make([]byte, saltSize)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	text, err := c.encrypt(kind, column, value, salt)
	return `"` + text + `"`, err
}

// Schedule returns the JSON that is stored for the payload of a schedule. Equal payloads of a kind give equal JSON, so that a runner which
// declares the schedule again changes nothing.
func (c *Cipher) Schedule(kind string, payload []byte) (string, error) {
	if c == nil {
		return string(payload), nil
	}
	text, err := c.encrypt(kind, Payload, payload, c.saltOf(kind, Payload, payload))
	return `"` + text + `"`, err
}

// Text returns the text that is stored in place of a text of an error. Equal texts of a kind give equal stored texts, so that the report of
// failed jobs can count them.
func (c *Cipher) Text(kind string, column Column, text string) (string, error) {
	if c == nil || text == "" {
		return text, nil
	}
	return c.encrypt(kind, column, []byte(text), c.saltOf(kind, column, []byte(text)))
}

// saltOf returns the salt of values that are stored alike when equal: a hash of the value by a separate key, as RFC 5297's nonce is.
func (c *Cipher) saltOf(kind string, column Column, value []byte) []byte {
	mac := hmac.New(sha256.New, c.keys[c.current].salts)
	mac.Write(bound(kind, column))
	mac.Write([]byte{0})
	mac.Write(value)
	return mac.Sum(nil)
}

func (c *Cipher) encrypt(kind string, column Column, value, salt []byte) (string, error) {
	k := c.keys[c.current]
	sealed, err := k.form.seal(k, salt, value, bound(kind, column))
	if err != nil {
		return "", fmt.Errorf("encrypt the %s: %w", column, err)
	}
	return prefix + string(k.form) + ":" + c.current + ":" + base64.StdEncoding.EncodeToString(append(salt[:saltSize:saltSize], sealed...)), nil
}

// bound returns the bytes that a value is bound to. Neither a kind nor a column has a NUL.
func bound(kind string, column Column) []byte { return []byte(kind + "\x00" + string(column)) }

// Encrypted reports whether a stored JSON string or text is an encrypted value, also in a form that this program does not know.
func Encrypted[T ~string | ~[]byte](stored T) bool {
	if len(stored) > 0 && stored[0] == '"' {
		stored = stored[1:]
	}
	if len(stored) <= len(prefix) || string(stored[:len(prefix)]) != prefix {
		return false
	}
	digits := len(prefix)
	for digits < len(stored) && stored[digits] >= '0' && stored[digits] <= '9' {
		digits++
	}
	return digits > len(prefix) && digits < len(stored) && stored[digits] == ':'
}

// parts returns the form of an encrypted value, the id of its key and the rest.
func parts(stored string) (f form, id, coded string) {
	text := strings.TrimSuffix(strings.TrimPrefix(stored, `"`), `"`)
	number, rest, _ := strings.Cut(strings.TrimPrefix(text, prefix), ":")
	id, coded, _ = strings.Cut(rest, ":")
	return form(number), id, coded
}

// Shown returns the text that people see in place of an encrypted error text. Equal errors give equal texts: each has a hash.
func Shown(stored string) string {
	sum := sha256.Sum256([]byte(stored))
	return strings.TrimSuffix(jobtype.Encrypted, "]") + " " + hex.EncodeToString(sum[:8]) + "]"
}

// KeyOf returns the id of the key that a value is encrypted with; empty for any other value.
func KeyOf(stored string) string {
	if !Encrypted(stored) {
		return ""
	}
	_, id, _ := parts(stored)
	return id
}

// CheckReplaced returns an InvalidError if a plain payload would replace this encrypted one.
func CheckReplaced(stored string) error {
	if !Encrypted(stored) {
		return nil
	}
	return jobtype.NewInvalidError("payload", "", "come from a program that has keys: the one that it would replace is encrypted with the key "+strconv.Quote(KeyOf(stored)))
}

// CheckPayload returns an InvalidError for the placeholder of a payload that is encrypted or was erased.
func CheckPayload(payload []byte) error {
	if Encrypted(payload) {
		return jobtype.NewInvalidError("payload", "", "not begin as one that is encrypted")
	}
	switch string(payload) {
	case jobtype.EncryptedJSON, jobtype.ForgottenJSON:
		return jobtype.NewInvalidError("payload", string(payload), "be the payload itself, not its placeholder")
	}
	return nil
}

// Open returns the value from which JSON or Text made the stored one. Any other value is returned unchanged. The error has no part
// of the value; it is [jobtype.ErrKey], or [ErrNoKey] where the key is missing.
func (c *Cipher) Open(kind string, column Column, stored string) (string, error) {
	if !Encrypted(stored) {
		return stored, nil
	}
	f, id, coded := parts(stored)
	if !f.known() {
		return "", fmt.Errorf("the %s is encrypted in the form %s, which a newer version of the library has: %w", column, strconv.Quote(string(f)), ErrNoKey)
	}
	if id == "" {
		return "", &damagedError{fmt.Sprintf("the %s is encrypted and names no key", column)}
	}
	if !c.Has(id) {
		return "", fmt.Errorf("the %s is encrypted with the key %s: %w", column, strconv.Quote(id), ErrNoKey)
	}
	value, err := c.keys[id].open(f, coded, bound(kind, column))
	if err != nil {
		return "", &damagedError{fmt.Sprintf("the key %s did not encrypt the %s for the kind %s: another key had this id, or the value was changed",
			strconv.Quote(id), column, strconv.Quote(kind))}
	}
	return string(value), nil
}

// ErrNoKey is the error of Open for a value that is encrypted with a key that the Cipher does not have. Another program may have it.
var ErrNoKey = fmt.Errorf("%w", jobtype.ErrKey)

// damagedError says why a key does not decrypt a value that names it.
type damagedError struct{ text string }

func (e *damagedError) Error() string { return e.text }
func (e *damagedError) Unwrap() error { return jobtype.ErrKey }

// Has reports whether there is a key with an id.
func (c *Cipher) Has(id string) bool { return c != nil && c.keys[id].values != nil }

func (k key) open(f form, coded string, bound []byte) ([]byte, error) {
	sealed, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return nil, err
	}
	if len(sealed) < saltSize {
		return nil, errTooShort
	}
	return f.open(k, sealed[:saltSize], sealed[saltSize:], bound)
}

// Current reports whether a stored value is encrypted with the key that new ones are encrypted with.
func (c *Cipher) Current(stored string) bool { return c != nil && KeyOf(stored) == c.current }
