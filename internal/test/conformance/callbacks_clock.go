package conformance

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// RunClock runs a runner whose engine's clock, an option WithClock, misbehaves after a while. The neighbour's lease is
// renewed, other jobs are added and run, and the runner ends. open opens a migrated database with the clock.
func RunClock(t *testing.T, open func(t *testing.T, now func() time.Time) Store) {
	for _, m := range misuses() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			release, called := make(chan struct{}), make(chan struct{})
			var once sync.Once
			var bad atomic.Bool
			f := newFixture(t, func(t *testing.T, _ ...*jobs.Observer) Store {
				return open(t, func() time.Time {
					if bad.Load() {
						once.Do(func() { close(called) })
						m.do(release)
					}
					return time.Now()
				})
			})
			f.Cleanup(func() { close(release) })
			id := f.enqueue("neighbour", jobs.MaxAttempts(1))
			started, end := make(chan struct{}), make(chan struct{})
			// The library waits for a clock without an answer once, for a second.
			r := f.start(jobs.Config{Lease: 4 * time.Second}, on("other", nothing), on("neighbour", runsUntil(started, end)))
			receive(f, "the neighbour's start", started)
			bad.Store(true)
			receive(f, "the call of the clock", called)
			f.wantRenewed(id)
			receipt, err := f.client.Enqueue(f.ctx, "other", json.RawMessage("{}"))
			f.must(err)
			want(f, "status of another job", f.ended(receipt.ID).Status, jobs.StatusDone)
			close(end)
			job := f.ended(id)
			want(f, "status of the neighbour", job.Status, jobs.StatusDone)
			want(f, "attempts of the neighbour", job.Attempt, 1)
			f.must(r.stop())
		})
	}
}
