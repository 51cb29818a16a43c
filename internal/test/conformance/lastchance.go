package conformance

import (
	"context"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// Of jobs that their next crash fails, a worker runs one at a time, beside other jobs: the neighbours of the one that
// kills its process do not fail with it.
func testLastChances(f *fixture) {
	ids := f.many(3)
	for range 2 {
		g := f.ghost("killed", time.Hour)
		want(f, "claimed", len(g.claim(3, time.Hour)), 3)
		g.die()
		f.drain(jobs.Config{}, on("other", nothing)) // a boot that does not run the jobs
	}
	for _, id := range ids {
		want(f, "crashes", f.get(id).Crashes, 2)
	}
	var mu sync.Mutex
	now, most := 0, 0
	besides := make(chan struct{}) // closed when others have run beside the first of them
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		now += n
		most = max(most, now)
	}
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 5}},
		on("k", func(ctx context.Context, _ jobs.Job) error {
			count(1)
			defer count(-1)
			select {
			case <-besides:
			case <-ctx.Done():
			}
			return ctx.Err()
		}), on("plain", nothing))
	f.eventually("one of them runs", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return now > 0
	})
	for range 3 {
		want(f, "status of a job beside it", f.ended(f.enqueue("plain")).Status, jobs.StatusDone)
	}
	close(besides)
	for _, id := range ids {
		job := f.ended(id)
		want(f, "status", job.Status, jobs.StatusDone)
		want(f, "attempts that count", job.Attempt-job.Uncounted, 3)
		want(f, "crashes", job.Crashes, 2)
	}
	mu.Lock()
	defer mu.Unlock()
	want(f, "how many of them ran at once", most, 1)
}
