package jobs

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
)

const (
	// waitLook is how often the jobs of all waiters are looked at without a signal: for commits that no signal tells of.
	waitLook = time.Second

	// waitFew is up to how many waiters each read their own job after a signal. Of more, one statement finds those whose job has
	// ended.
	waitFew = 4

	// waitMost is how many jobs one statement looks at: that takes milliseconds of a processor.
	waitMost = 2000

	// waitRest is for how many times as long as a look took the next one is put off: looks for many waiters take a tenth of one
	// processor at the most.
	waitRest = 9
)

// waitList wakes the callers of Wait. However many there are, one goroutine listens and looks for all of them; it runs while
// there are any. The zero value is an empty list.
type waitList struct {
	mu      sync.Mutex
	waiters map[*waiter]struct{}
	stop    func() // ends the goroutine; nil while there are no waiters
}

// waiter is a call of Wait.
type waiter struct {
	id   int64
	wake chan struct{} // gets a value when the job may have ended
}

// join adds a waiter. A commit after join that ends the job wakes it. leave removes it.
func (l *waitList) join(store Store, id int64) (wake <-chan struct{}, leave func()) {
	w := &waiter{id: id, wake: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		ended, deafen := store.Listen(JobEnded, nil)
		l.waiters = map[*waiter]struct{}{}
		l.stop = func() {
			cancel()
			deafen()
		}
		go l.follow(ctx, store, ended)
	}
	l.waiters[w] = struct{}{}
	return w.wake, func() { l.leave(w) }
}

func (l *waitList) leave(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiters, w)
	if len(l.waiters) == 0 {
		l.stop()
		l.stop = nil
	}
}

// follow looks after each signal, and each waitLook without one, until ctx ends.
func (l *waitList) follow(ctx context.Context, store Store, ended <-chan struct{}) {
	tick := time.NewTicker(waitLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
		case <-tick.C:
		}
		began := time.Now()
		if !l.look(ctx, store) {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(waitRest * time.Since(began)):
		}
	}
}

// look wakes the waiters whose job may have ended. It reports whether it ran statements to find them.
func (l *waitList) look(ctx context.Context, store Store) (asked bool) {
	l.mu.Lock()
	byID := map[int64][]*waiter{}
	for w := range l.waiters {
		byID[w.id] = append(byID[w.id], w)
	}
	few := len(l.waiters) <= waitFew
	l.mu.Unlock()
	if few {
		for _, list := range byID {
			wakeAll(list)
		}
		return false
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(byID)), waitMost) {
		var ended []int64
		err := store.Inspect(ctx, func(ctx context.Context, q db.Querier) (err error) {
			ended, err = q.ListEndedAmong(ctx, core.JSONIDs(ids))
			return err
		})
		switch {
		case ctx.Err() != nil:
			return true
		case errors.Is(err, ErrUnavailable): // the server comes back
			return true
		case err != nil:
			ended = ids // their own reads meet the error, and Wait returns it
		}
		for _, id := range ended {
			wakeAll(byID[id])
		}
		runtime.Gosched() // SQLite computes in this process: let those go on who are ready
	}
	return true
}

func wakeAll(list []*waiter) {
	for _, w := range list {
		select {
		case w.wake <- struct{}{}:
		default: // it has a wake waiting
		}
	}
}
