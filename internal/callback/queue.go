package callback

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// reportEvery is the shortest time between two reports of a queue: a function that panics once panics each time.
const reportEvery = 30 * time.Second

// batchAfter is the time for which a queue that was empty gathers functions before it calls them: callers who add many
// would pay more to wake a goroutine for each than for the functions.
const batchAfter = time.Millisecond

// keepCapacity is the capacity up to which a queue reuses the memory of a batch.
const keepCapacity = 1024

// Queue calls functions one at a time in the order of Add, about a millisecond later, on a goroutine that exists only while
// functions wait. Its methods may be called concurrently, and Add never blocks.
type Queue struct {
	limit  int
	report func(error)

	mu      sync.Mutex
	waiting []func()
	running bool
	dropped int // the number dropped since the last report of drops

	// The next fields belong to the goroutine that calls the functions.
	batch      []func()
	called     int // the number of called functions of batch
	reported   time.Time
	suppressed int // faults since the last report
}

// NewQueue returns a queue that drops functions while limit of them wait. report gets the faults of functions and the
// number of those that were dropped, at most one error every 30 seconds. The queue calls it as one of its functions.
func NewQueue(limit int, report func(error)) *Queue { return &Queue{limit: limit, report: report} }

// Add queues fn to be called, or drops it when the queue is full.
func (q *Queue) Add(fn func()) { q.add(fn, q.limit) }

func (q *Queue) add(fn func(), limit int) {
	q.mu.Lock()
	if limit > 0 && len(q.waiting) >= limit {
		q.dropped++
		q.mu.Unlock()
		return
	}
	q.waiting = append(q.waiting, fn)
	start := !q.running
	q.running = true
	q.mu.Unlock()
	if start {
		time.AfterFunc(batchAfter, q.run)
	}
}

// Flush waits until all functions that were added before it have returned. The error is ctx's when that ends first.
func (q *Queue) Flush(ctx context.Context) error {
	done := make(chan struct{})
	q.add(func() { close(done) }, 0)
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run calls functions until none waits. After runtime.Goexit in one of them another goroutine goes on with the rest.
func (q *Queue) run() {
	finished := false
	defer func() {
		if !finished {
			go q.run()
		}
	}()
	for q.fetch() {
		for q.called < len(q.batch) {
			fn := q.batch[q.called]
			q.batch[q.called] = nil
			q.called++
			q.call(fn)
		}
	}
	finished = true
}

// fetch fetches the waiting functions, unless some of the last batch are left. It returns false when there are none.
func (q *Queue) fetch() bool {
	if q.called < len(q.batch) {
		return true
	}
	if cap(q.batch) > keepCapacity {
		q.batch = nil
	}
	q.mu.Lock()
	q.batch, q.waiting, q.called = q.waiting, q.batch[:0], 0
	dropped := q.dropped
	q.dropped = 0
	q.running = len(q.batch) > 0 || dropped > 0
	running := q.running
	q.mu.Unlock()
	if dropped > 0 {
		q.fault(fmt.Errorf("%d calls were dropped because the ones before them took too long", dropped))
	}
	return running
}

// call calls a function and reports its panic or runtime.Goexit.
func (q *Queue) call(fn func()) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			q.fault(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		} else if !returned {
			q.fault(errors.New("a callback called runtime.Goexit"))
		}
	}()
	fn()
	returned = true
}

// fault reports an error, or counts it when the last report was a moment ago. A report that panics is dropped: no other
// receiver exists.
func (q *Queue) fault(err error) {
	now := time.Now()
	if !q.reported.IsZero() && now.Sub(q.reported) < reportEvery {
		q.suppressed++
		return
	}
	if q.suppressed > 0 {
		err = fmt.Errorf("%w (and %d more since the last report)", err, q.suppressed)
	}
	q.reported, q.suppressed = now, 0
	defer func() { _ = recover() }()
	q.report(err)
}
