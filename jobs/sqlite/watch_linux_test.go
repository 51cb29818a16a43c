package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// The safety look finds a commit without an event, wakes, and gives up on events.
func TestSafetyLook(t *testing.T) {
	store, _ := queue(t)
	h, version := blind(t, store)
	wake, stop := h.listen(core.WorkReady)
	defer stop()
	ctx, _ := contextOf(t)
	ended := make(chan error, 1)
	go func() { ended <- h.watchEvents(ctx, version) }()
	receive(t, "the first wake", wake)
	scan[int64](t, plain(t, store.path), "insert_job", "k", "{}")
	receive(t, "the wake of the safety look", wake)
	if err := receive(t, "the end of the watch", ended); !errors.Is(err, errMissed) {
		t.Errorf("the watch ends with %v", err)
	}
}

// Without events the watch continues by polling, and logs it.
func TestWatchFallsBack(t *testing.T) {
	log := &journal{}
	store, _ := queue(t, WithLogger(slog.New(log)))
	h, _ := blind(t, store)
	wake, stop := h.listen(core.WorkReady)
	defer stop()
	ctx, cancel := contextOf(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.watch(ctx)
	}()
	receive(t, "the first wake", wake)
	foreign := plain(t, store.path)
	scan[int64](t, foreign, "insert_job", "k", "{}")
	receive(t, "the wake of the safety look", wake)
	eventually(t, "the fallback is logged", func() bool { return log.holds("waking up by polling") })
	for range 5 {
		scan[int64](t, foreign, "insert_job", "k", "{}")
		receive(t, "the wake of the polling", wake)
	}
	cancel()
	receive(t, "the end of the watch", ended)
}

// A listener that does not take its wakes must not make the watch believe that events are missing.
func TestListenerWithAWakeDoesNotDemote(t *testing.T) {
	store, _ := queue(t)
	h := newHub(store.pools, store.options)
	h.close() // so that it starts no watch of its own
	version := &dataVersion{pools: store.pools}
	_, stop := h.listen(core.WorkReady)
	defer stop()
	// The safety look comes after a quiet second; the time here only bounds the wait for a failure.
	ctx, cancel := context.WithTimeout(t.Context(), 3*safetyLook)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- h.watchEvents(ctx, version) }()
	eventually(t, "the listener is woken", h.noneToWake)
	scan[int64](t, plain(t, store.path), "insert_job", "k", "{}")
	if err := receive(t, "the end of the watch", ended); errors.Is(err, errMissed) {
		t.Errorf("the watch gives up on events: %v", err)
	}
}

// The listener is woken for each commit, however they follow one another, and whatever else this store commits. Events are
// enough for that.
func TestNoWakeIsLost(t *testing.T) {
	for name, busy := range map[string]bool{"idle": false, "busy": true} {
		t.Run(name, func(t *testing.T) { testNoWakeIsLost(t, busy) })
	}
}

func testNoWakeIsLost(t *testing.T, busy bool) {
	log := &journal{}
	store, _ := queue(t, WithLogger(slog.New(log)))
	there, _ := queueAt(t, store.path)
	if busy {
		ctx, cancel := context.WithCancel(t.Context())
		var writing sync.WaitGroup
		defer writing.Wait()
		defer cancel()
		writing.Go(func() {
			for ctx.Err() == nil {
				if err := store.Write(context.Background(), add("own")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wake, stop := store.Listen(core.WorkReady, nil)
	defer stop()
	count := plain(t, store.path)
	const n = 300
	go func() {
		client := jobs.New(there)
		for i := range n {
			if _, err := client.Enqueue(context.Background(), "k", []byte("{}")); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Duration(i%7) * 100 * time.Microsecond) // commits at odd times, not in step with the looks
		}
	}()
	for scan[int](t, count, "count_jobs") < n {
		receive(t, "the wake of a commit that was not seen yet", wake)
	}
	if log.holds("waking up by polling") {
		t.Error("events were not enough")
	}
}
