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

	// waitRest is how many times the duration of a look passes before the next one: looks for many waiters take at most a tenth
	// of one processor.
	waitRest = 9
)

// waitList wakes the callers of Wait. However many there are, one goroutine listens and looks for all of them; it runs while
// there are any. The zero value is an empty list.
type waitList struct {
	mu      sync.Mutex
	waiters map[*waiter]struct{}
	fresh   []*waiter     // those whose jobs were not looked at since they joined
	joined  chan struct{} // gets a value when there is a fresh one
	stop    func()        // ends the goroutine; nil while there are no waiters
}

// waiter is a call of Wait.
type waiter struct {
	id   int64
	wake chan struct{} // gets a value when the job may have ended
}

// join adds a waiter, which is woken when its job may have ended, before join or after it. leave removes it.
func (l *waitList) join(store Store, id int64) (wake <-chan struct{}, leave func()) {
	w := &waiter{id: id, wake: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		ended, deafen := store.Listen(JobEnded, nil)
		l.waiters, l.fresh, l.joined = map[*waiter]struct{}{}, nil, make(chan struct{}, 1)
		l.stop = func() {
			cancel()
			deafen()
		}
		go l.follow(ctx, store, ended, l.joined)
	}
	l.waiters[w] = struct{}{}
	l.fresh = append(l.fresh, w)
	signal(l.joined)
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

// follow looks at all jobs after each signal, and each waitLook without one, and at those of fresh waiters, until ctx ends.
func (l *waitList) follow(ctx context.Context, store Store, ended, joined <-chan struct{}) {
	tick := time.NewTicker(waitLook)
	defer tick.Stop()
	for {
		var list []*waiter
		select {
		case <-ctx.Done():
			return
		case <-joined:
			list = l.takeFresh(ctx)
		case <-ended:
			list = l.all()
		case <-tick.C:
			list = l.all()
		}
		if len(list) <= waitFew {
			wakeAll(list)
			continue
		}
		began := time.Now()
		wakeEnded(ctx, store, list)
		select {
		case <-ctx.Done():
			return
		case <-time.After(waitRest * time.Since(began)):
		}
	}
}

func (l *waitList) all() []*waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.waiters))
}

// takeFresh returns none when ctx has ended: then the fresh ones are another goroutine's.
func (l *waitList) takeFresh(ctx context.Context) []*waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	list := l.fresh
	l.fresh = nil
	return list
}

// wakeEnded wakes those whose job has ended or is not there.
func wakeEnded(ctx context.Context, store Store, list []*waiter) {
	byID := map[int64][]*waiter{}
	for _, w := range list {
		byID[w.id] = append(byID[w.id], w)
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(byID)), waitMost) {
		var ended []int64
		err := store.Inspect(ctx, func(ctx context.Context, q db.Querier) (err error) {
			ended, err = q.ListEndedAmong(ctx, core.JSONIDs(ids))
			return err
		})
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrUnavailable): // the server comes back, and the next look finds them
			return
		case err != nil:
			ended = ids // their own reads meet the error, and Wait returns it
		}
		for _, id := range ended {
			wakeAll(byID[id])
		}
		runtime.Gosched() // SQLite computes in this process: let goroutines run that are ready
	}
}

func wakeAll(list []*waiter) {
	for _, w := range list {
		signal(w.wake)
	}
}

// signal gives a value to a channel with room for one, unless one is there.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
