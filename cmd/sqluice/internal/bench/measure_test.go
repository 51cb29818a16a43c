package bench

import (
	"encoding/json"
	"testing"
	"time"
)

func TestPayloadsHaveTheSize(t *testing.T) {
	for _, size := range []int{MinPayload, 100, 100_000} {
		for _, at := range []time.Time{{}, time.Unix(0, 0), time.Now()} {
			payload := payloadOf(at, size)
			var sent struct{ At int64 }
			if err := json.Unmarshal(payload, &sent); err != nil || sent.At != at.UnixNano() || len(payload) != size {
				t.Errorf("%d bytes, want %d: %v in %s", len(payload), size, err, payload)
			}
		}
	}
}
