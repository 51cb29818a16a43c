package model

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/jobs"
)

// keyring holds a program's keys to encrypt and decrypt with. The zero value encrypts nothing.
type keyring struct {
	ids    []string // of its keys, the one to encrypt with first
	client jobs.Cipher
	values *cipher.Cipher // the same, for values that the test writes and reads as a runner does
}

// newKeyring returns the keys with some ids.
func newKeyring(ids ...string) keyring {
	list := make([]jobs.Key, len(ids))
	for i, id := range ids {
		secret := sha256.Sum256([]byte(id))
		list[i] = jobs.Key{ID: id, Secret: secret[:]}
	}
	k := keyring{ids: ids}
	var err error
	if k.client, err = jobs.NewCipher(list...); err != nil {
		panic(err) // of keys that a test made
	}
	if k.values, err = cipher.New(list); err != nil {
		panic(err)
	}
	return k
}

// stored returns the text that a runner stores in place of a value.
func (k keyring) stored(kind string, column cipher.Column, value []byte) string {
	text, err := k.values.JSON(kind, column, value)
	if err != nil {
		panic(err)
	}
	return text
}

// open returns the value of a stored text, or the reason why there is none, which differs from all values.
func (k keyring) open(kind string, column cipher.Column, stored string) json.RawMessage {
	value, err := k.values.Open(kind, column, stored)
	if err != nil {
		return json.RawMessage(err.Error())
	}
	return json.RawMessage(value)
}
