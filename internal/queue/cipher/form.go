package cipher

import (
	"crypto/aes"
	gocipher "crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
)

// form names the way in which a value is sealed, and is part of the stored value. Each key derived from a salt seals one value alone: so a
// key has no limit of values, as it has with random nonces of 96 bits. RFC 5869 is made for deriving a key for each message from a salt.
type form string

const (
	// gcm is AES-256-GCM, with the nonce derived as well. The mode GODEBUG=fips140=only of Go allows no nonce but a random one.
	gcm form = "1"

	// ctr is AES-256-CTR followed by HMAC-SHA-256 of the bound kind and column, the salt and the ciphertext. It is for that mode: with a
	// random nonce in place of a derived one, equal errors and equal payloads of schedules would be stored differently.
	ctr form = "2"
)

var (
	errTooShort = errors.New("the ciphertext is too short")
	errTag      = errors.New("the authentication of the ciphertext failed")
)

func (f form) known() bool { return f == gcm || f == ctr }

// allowedForm returns the form that the mode of Go's cryptography allows, after it has sealed and opened a value with it.
func allowedForm(k key) (f form, err error) {
	f = gcm
	if _, _, err := k.aead(make([]byte, saltSize)); err != nil {
		f = ctr
	}
	salt, bound := make([]byte, saltSize), []byte("probe")
	sealed, err := f.seal(k, salt, salt, bound)
	if err == nil {
		_, err = f.open(k, salt, sealed, bound)
	}
	if err != nil {
		return "", fmt.Errorf("this process cannot encrypt: %w", err)
	}
	return f, nil
}

func (f form) seal(k key, salt, value, bound []byte) ([]byte, error) {
	if f == ctr {
		return k.sealCTR(salt, value, bound)
	}
	aead, nonce, err := k.aead(salt)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nonce, value, bound), nil
}

func (f form) open(k key, salt, sealed, bound []byte) ([]byte, error) {
	if f == ctr {
		return k.openCTR(salt, sealed, bound)
	}
	if aead, nonce, err := k.aead(salt); err == nil {
		return aead.Open(nil, nonce, sealed, bound)
	}
	// The mode allows any nonce for opening a value: openGCM reads the nonce before the value.
	block, nonce, err := k.block(salt)
	if err != nil {
		return nil, err
	}
	aead, err := gocipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return aead.Open(nil, nil, append(nonce[:len(nonce):len(nonce)], sealed...), bound)
}

// block returns AES-256 with the key of one salt, and the nonce of that salt.
func (k key) block(salt []byte) (gocipher.Block, []byte, error) {
	const keySize, nonceSize = 32, 12
	made, err := hkdf.Expand(sha256.New, k.values, string(salt), keySize+nonceSize)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(made[:keySize])
	return block, made[keySize:], err
}

// aead returns AES-256-GCM with the key of one salt, and the nonce of that salt.
func (k key) aead(salt []byte) (gocipher.AEAD, []byte, error) {
	block, nonce, err := k.block(salt)
	if err != nil {
		return nil, nil, err
	}
	aead, err := gocipher.NewGCM(block)
	return aead, nonce, err
}

// stream returns AES-256-CTR with the key of one salt, and the key of the HMAC of that salt. No key of the form gcm equals one of them.
func (k key) stream(salt []byte) (gocipher.Stream, []byte, error) {
	const keySize, ivSize, macSize = 32, aes.BlockSize, sha256.Size
	made, err := hkdf.Expand(sha256.New, k.values, "ctr "+string(salt), keySize+ivSize+macSize)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(made[:keySize])
	if err != nil {
		return nil, nil, err
	}
	return gocipher.NewCTR(block, made[keySize:keySize+ivSize]), made[keySize+ivSize:], nil
}

// tag authenticates a ciphertext. The kind and the column in bound have no NUL, and a salt has one length.
func tag(macKey, salt, sealed, bound []byte) []byte {
	mac := hmac.New(sha256.New, macKey)
	for _, part := range [][]byte{bound, {0}, salt, sealed} {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

func (k key) sealCTR(salt, value, bound []byte) ([]byte, error) {
	stream, macKey, err := k.stream(salt)
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, len(value), len(value)+sha256.Size)
	stream.XORKeyStream(sealed, value)
	return append(sealed, tag(macKey, salt, sealed, bound)...), nil
}

func (k key) openCTR(salt, sealed, bound []byte) ([]byte, error) {
	size := len(sealed) - sha256.Size
	if size < 0 {
		return nil, errTooShort
	}
	stream, macKey, err := k.stream(salt)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(sealed[size:], tag(macKey, salt, sealed[:size], bound)) {
		return nil, errTag
	}
	value := make([]byte, size)
	stream.XORKeyStream(value, sealed[:size])
	return value, nil
}
