package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// The headers of the Standard Webhooks specification.
const (
	headerID        = "webhook-id"
	headerTime      = "webhook-timestamp"
	headerSignature = "webhook-signature"
)

// The bounds of a secret in bytes, and its prefix, as the Standard Webhooks specification defines them.
const (
	leastSecret  = 24
	mostSecret   = 64
	secretPrefix = "whsec_"
)

// ParseSecrets returns the secrets of a text, which blanks or line breaks separate. The error is a phrase that follows "must" and has no
// part of a secret.
func ParseSecrets(text string) (secrets [][]byte, err error) {
	for _, word := range strings.Fields(text) {
		coded, found := strings.CutPrefix(word, secretPrefix)
		secret, err := base64.StdEncoding.DecodeString(coded)
		if !found || err != nil || len(secret) < leastSecret || len(secret) > mostSecret {
			return nil, fmt.Errorf("be %s and %d to %d bytes in base64", secretPrefix, leastSecret, mostSecret)
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// signature returns the value of the header webhook-signature: a signature of the message and its time by each secret.
func signature(secrets [][]byte, id string, at time.Time, payload []byte) string {
	var list []string
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
		mac.Write(payload)
		list = append(list, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(list, " ")
}
