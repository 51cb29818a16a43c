package sqlite

import (
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// settle takes a new listener's first wakes.
func settle(t *testing.T, wake <-chan struct{}) {
	t.Helper()
	receive(t, "the first wake", wake)
	for {
		select {
		case <-wake:
		case <-time.After(200 * time.Millisecond): // a wake that comes later is a false alarm, which is allowed
			return
		}
	}
}

func TestForeignCommitWakes(t *testing.T) {
	store, _ := queue(t)
	wake, stop := store.Listen(core.WorkReady, nil)
	defer stop()
	settle(t, wake)
	foreign := plain(t, store.path)
	for range 50 {
		id := scan[int64](t, foreign, "insert_job", "k", "{}")
		receive(t, "the wake", wake)
		if id == 0 {
			t.Fatal("no id")
		}
	}
}

func TestWakeGoesBySignal(t *testing.T) {
	store, _ := queue(t)
	h := newHub(store.pools, store.options) // without a watch, which would wake all listeners
	h.close()
	work, stopWork := h.listen(core.WorkReady)
	end, stopEnd := h.listen(core.JobEnded)
	h.wake(core.WorkReady, jobs.WakeLocal)
	receive(t, "the wake", work)
	if len(end) != 0 {
		t.Error("a listener to the ends of jobs was woken by work")
	}
	h.wake(core.WorkReady|core.JobEnded, jobs.WakeLocal)
	h.wake(core.WorkReady|core.JobEnded, jobs.WakeLocal) // never blocks
	receive(t, "the wake", work)
	receive(t, "the wake", end)
	stopWork()
	h.wake(core.WorkReady, jobs.WakeLocal)
	if len(work) != 0 {
		t.Error("a listener was woken after it had left")
	}
	stopEnd()
	stopEnd() // twice does no harm
}

// A listener for changes of any kind is woken by writes that are not announced; other listeners are not.
func TestWriteIsAChange(t *testing.T) {
	store, _ := queue(t)
	changed, stopChanged := store.Listen(core.WorkReady|core.JobEnded|core.ChangesOnly, nil)
	defer stopChanged()
	settle(t, changed)
	for range 3 {
		must(t, store.Write(t.Context(), add("a")))
		receive(t, "the wake", changed)
	}
}

func TestWatchRunsWhileListenersExist(t *testing.T) {
	store, _ := queue(t)
	watching := func() bool {
		store.hub.mu.Lock()
		defer store.hub.mu.Unlock()
		return store.hub.stopWatch != nil
	}
	for range 3 {
		wake, stopA := store.Listen(core.WorkReady, nil) // starts the watch, and so gets the first wake
		_, stopB := store.Listen(core.JobEnded, nil)
		if !watching() {
			t.Error("no watch runs")
		}
		receive(t, "the first wake", wake)
		stopA()
		if !watching() {
			t.Error("no watch runs for the second listener")
		}
		stopB()
		if watching() {
			t.Error("the watch goes on without listeners")
		}
	}
}

// A listener that leaves does not wait for the watch, which waits for a write that waits for another program's.
func TestLeavingWaitsForNoWrite(t *testing.T) {
	store, _ := queue(t)
	store.writer.stmts.Lock()
	defer store.writer.stmts.Unlock()
	_, stop := store.Listen(core.WorkReady, nil)
	left := make(chan struct{})
	go func() {
		defer close(left)
		stop()
	}()
	receive(t, "the end of listening", left)
}

func TestPollWakes(t *testing.T) {
	store, _ := queue(t)
	h, version := blind(t, store)
	wake, stop := h.listen(core.WorkReady)
	defer stop()
	polling := make(chan struct{})
	ctx, cancel := contextOf(t)
	go func() {
		defer close(polling)
		h.poll(ctx, version)
	}()
	receive(t, "the first wake", wake)
	foreign := plain(t, store.path)
	for range 20 {
		scan[int64](t, foreign, "insert_job", "k", "{}")
		receive(t, "the wake", wake)
	}
	cancel()
	receive(t, "the end of the polling", polling)
}
