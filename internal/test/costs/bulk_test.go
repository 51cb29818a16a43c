package costs

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

const (
	bulkJobs    = 100_000
	bulkPayload = 1000     // bytes
	bulkMost    = 48 << 20 // bytes, where the payloads together have 100 MB
)

// bulkMemory has many jobs added by one call: the statements of all of them are never in memory together.
func bulkMemory(t *testing.T, e engine) {
	t.Helper()
	list := make([]json.RawMessage, bulkJobs)
	body := json.RawMessage(`{"path":"` + strings.Repeat("x", bulkPayload) + `"}`) // shared
	for i := range list {
		list[i] = body
	}
	l := e.lab(t)
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // so that liveBytes counts little garbage
	runtime.GC()
	before := liveBytes()
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for most := before; ; most = max(most, liveBytes()) {
			select {
			case <-stop:
				peak <- most
				return
			case <-ticker.C:
			}
		}
	}()
	receipts, err := l.client.EnqueueMany(t.Context(), "bulk", list)
	close(stop)
	grown := <-peak - before
	must(t, err)
	if len(receipts) != bulkJobs {
		t.Errorf("%d receipts, not %d", len(receipts), bulkJobs)
	}
	if grown > bulkMost {
		t.Errorf("%d payloads of %d bytes took %d MB of memory, at most %d are allowed", bulkJobs, bulkPayload, grown>>20, bulkMost>>20)
	}
	t.Logf("%d MB of memory", grown>>20)
}

// liveBytes returns the memory of objects that are in use or not collected yet.
func liveBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
