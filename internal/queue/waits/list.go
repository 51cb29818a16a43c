package waits

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const (
	// waitSoon is the pause before the list looks at its jobs after a caller joined or a job of it ended. Each look that finds no
	// ended job doubles the pause, up to waitPoll where only looks find the ends in other processes, and up to waitSafety where a
	// signal announces them.
	waitSoon   = 2 * time.Millisecond
	waitPoll   = 100 * time.Millisecond
	waitSafety = time.Second

	// waitMost is the largest number of jobs that one statement looks at: that takes milliseconds of a processor.
	waitMost = 2000

	// waitRest is the pause between two looks as a multiple of the duration of the first, up to waitSafety: looks take at most a
	// tenth of one processor.
	waitRest = 9
)

// Store is the part of a store that a List needs: see engine.Store.
type Store interface {
	Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error
	Listen(signals core.Signal, queues []string) (wake <-chan struct{}, stop func())
	AnnouncesEnds() bool
}

// List wakes the callers of Wait. One goroutine listens and looks for all callers; it runs while there are any. The zero
// value is an empty list.
type List struct {
	mu      sync.Mutex
	waiters map[*waiter]struct{}
	joined  chan struct{} // gets a value when a waiter joins
	stop    func()        // ends the goroutine; nil while there are no waiters
}

// waiter is one call of Wait.
type waiter struct {
	id   int64
	wake chan struct{} // gets a value when the job may have ended
}

// Join adds a waiter, which is woken when its job may have ended, before Join or after it. leave removes it.
func (l *List) Join(store Store, id int64) (wake <-chan struct{}, leave func()) {
	w := &waiter{id: id, wake: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		ended, deafen := store.Listen(core.JobEnded, nil)
		l.waiters, l.joined = map[*waiter]struct{}{}, make(chan struct{}, 1)
		l.stop = func() {
			cancel()
			deafen()
		}
		go l.follow(ctx, store, ended, l.joined)
	}
	l.waiters[w] = struct{}{}
	signal(l.joined)
	return w.wake, func() { l.remove(w) }
}

func (l *List) remove(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiters, w)
	if len(l.waiters) == 0 {
		l.stop()
		l.stop = nil
	}
}

// follow looks at all jobs after each signal, and after a pause without one, until ctx ends.
func (l *List) follow(ctx context.Context, store Store, ended, joined <-chan struct{}) {
	longest := waitPoll
	if store.AnnouncesEnds() {
		longest = waitSafety
	}
	pause := waitSoon
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-joined:
			if pause > waitSoon { // else the look is due within waitSoon, and callers that join one after another do not postpone it
				pause = waitSoon
				timer.Reset(pause)
			}
			continue
		case <-ended:
		case <-timer.C:
		}
		began := time.Now()
		found, err := wakeEnded(ctx, store, l.byID())
		switch {
		case err != nil:
			pause = waitSafety
		case found:
			pause = waitSoon
		default:
			pause = min(2*pause, longest)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(waitRest*time.Since(began), waitSafety)):
		}
		timer.Reset(pause)
	}
}

// byID returns the waiters by the id of their job.
func (l *List) byID() map[int64][]*waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	byID := map[int64][]*waiter{}
	for w := range l.waiters {
		byID[w.id] = append(byID[w.id], w)
	}
	return byID
}

// wakeEnded wakes the waiters whose job has ended or does not exist. It reports whether there were any.
func wakeEnded(ctx context.Context, store Store, byID map[int64][]*waiter) (found bool, err error) {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(byID)), waitMost) {
		ended, err := core.Value(ctx, store.Inspect, func(ctx context.Context, q db.Querier) ([]int64, error) {
			return q.ListEndedAmong(ctx, core.JSONIDs(ids))
		})
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, jobtype.ErrUnavailable) { // a server that is away will come back
				wakeAll(byID, ids) // their own reads meet the error, and Wait returns it
			}
			return found, err
		}
		wakeAll(byID, ended)
		found = found || len(ended) > 0
		runtime.Gosched() // SQLite computes in this process: let goroutines run that are ready
	}
	return found, nil
}

func wakeAll(byID map[int64][]*waiter, ids []int64) {
	for _, id := range ids {
		for _, w := range byID[id] {
			signal(w.wake)
		}
	}
}

// signal sends a value to a channel with room for one, unless it holds one.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
