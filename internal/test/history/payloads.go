package history

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest returns the beginning of a payload's SHA-256, by which events identify the payload.
func Digest(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:8])
}

// checkPayloads checks that handlers got the payloads that were enqueued, byte for byte. Events without a digest are not compared.
func (c *collected) checkPayloads(r *Report) {
	for a, list := range c.starts {
		for _, e := range list {
			q := c.enqueues[e.Key]
			if q != nil && q.payload != "" && e.Payload != "" && q.payload != e.Payload {
				r.Changed = append(r.Changed, fmt.Sprintf("attempt %d of job %d got other bytes than %q was enqueued with", a.number, a.job, e.Key))
			}
		}
	}
}
