package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
)

var orderTests = []test{
	{"PriorityThenRunAfterThenID", testOrder},
	{"AcrossKinds", testOrderAcrossKinds},
	{"BatchIsBestFirst", testBatchIsBestFirst},
	{"PriorityStaysWithinItsQueue", testPriorityWithinQueue},
	{"ManyDueAtOnce", testManyDueAtOnce},
	{"RetriedAtOnce", testRetriedAtOnce},
}

// order drains with one slot and returns the ids in the order of their runs.
func (f *fixture) order(kinds ...string) []int64 {
	f.Helper()
	var ids []int64
	var handles []handle
	for _, kind := range kinds {
		handles = append(handles, on(kind, func(_ context.Context, job jobs.Job) error {
			ids = append(ids, job.ID) // one slot: no two handlers at once
			return nil
		}))
	}
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, handles...)
	return ids
}

func testOrder(f *fixture) {
	past := f.store.Now().Add(-10 * time.Second)
	low := f.enqueue("k", jobs.Priority(-1), jobs.At(past.Add(-time.Second)))
	late := f.enqueue("k", jobs.At(past.Add(time.Second)))
	early := f.enqueue("k", jobs.At(past))
	early2 := f.enqueue("k", jobs.At(past))
	high := f.enqueue("k", jobs.Priority(1), jobs.At(past.Add(2*time.Second)))
	ids, wanted := f.order("k"), []int64{high, early, early2, late, low}
	if !slices.Equal(ids, wanted) {
		f.Errorf("jobs ran in the order %v, not %v", ids, wanted)
	}
}

func testOrderAcrossKinds(f *fixture) {
	past := f.store.Now().Add(-10 * time.Second)
	var wanted []int64
	for i := range 12 {
		wanted = append(wanted, f.enqueue([]string{"z", "a", "m"}[i%3], jobs.Priority(100-i/4), jobs.At(past)))
	}
	if ids := f.order("a", "m", "z"); !slices.Equal(ids, wanted) {
		f.Errorf("jobs ran in the order %v, not %v", ids, wanted)
	}
}

func testBatchIsBestFirst(f *fixture) {
	past := f.store.Now().Add(-10 * time.Second)
	var low, high []int64
	for range 5 {
		low = append(low, f.enqueue("k", jobs.At(past)))
	}
	for range 5 {
		high = append(high, f.enqueue("k", jobs.At(past), jobs.Priority(9)))
	}
	// Five slots and five better jobs: the first batch is these and no other.
	started, release := make(chan int64, 10), make(chan struct{})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 5}}, on("k", func(ctx context.Context, job jobs.Job) error {
		started <- job.ID
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	}))
	var first []int64
	for range 5 {
		first = append(first, receive(f, "a job of the first batch", started))
	}
	slices.Sort(first)
	if !slices.Equal(first, high) {
		f.Errorf("the first batch is %v, not %v", first, high)
	}
	close(release)
	for _, id := range low {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
}

func testPriorityWithinQueue(f *fixture) {
	for range 5 {
		f.enqueue("k", jobs.Queue("a"), jobs.Priority(100))
	}
	b := f.enqueue("k", jobs.Queue("b"))
	release := make(chan struct{})
	f.start(jobs.Config{Queues: map[string]int{"a": 1, "b": 1}}, on("k", func(ctx context.Context, job jobs.Job) error {
		if job.Queue == "a" {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return nil
	}))
	want(f, "status of the job of the other queue", f.ended(b).Status, jobs.StatusDone)
	close(release)
}

// More jobs fall due at the same time than become claimable in one transaction.
func testManyDueAtOnce(f *fixture) {
	payloads := slices.Repeat([]json.RawMessage{[]byte("{}")}, 500)
	wanted, err := receipts.IDs(f.client.EnqueueMany(f.Context(), "k", payloads, jobs.At(f.store.Now().Add(time.Second))))
	f.must(err)
	started := make(chan int64, len(wanted))
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, on("k", func(_ context.Context, job jobs.Job) error {
		started <- job.ID
		return nil
	}))
	var ids []int64
	for range wanted {
		ids = append(ids, receive(f, "a job that is due", started))
	}
	if !slices.Equal(ids, wanted) {
		f.Errorf("jobs ran in the order %v, not %v", ids, wanted)
	}
}

// A job that is retried, snoozed or given back without a delay comes before jobs of a lower priority, also where its end is recorded
// together with the next claim.
func testRetriedAtOnce(f *fixture) {
	kind := jobs.Kind[json.RawMessage]{Name: "k", RetryDelay: func(jobs.Job, error) time.Duration { return 0 }}
	for name, end := range map[string]error{"retried": errors.New("again"), "snoozed": jobs.Snooze(0)} {
		high, low := f.enqueue("k", jobs.Priority(9)), f.enqueue("k")
		var ran []int64
		f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, func(r *jobs.Runner) {
			kind.Handle(r, func(_ context.Context, job jobs.Job, _ json.RawMessage) error {
				if ran = append(ran, job.ID); job.ID == high && job.Attempt == 1 {
					return end
				}
				return nil
			})
		})
		if want := []int64{high, high, low}; !slices.Equal(ran, want) {
			f.Errorf("%s: the jobs run in the order %v, not %v", name, ran, want)
		}
	}
}
