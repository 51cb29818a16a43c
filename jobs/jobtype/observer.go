package jobtype

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/callback"
)

// eventLimit is the largest number of events that wait for an observer.
const eventLimit = 100_000

// Observer holds functions that are called for a process's events in a queue, for example for metrics. Pass it to an engine
// by the option WithObserver; the clients and runners of that store call it too. It only watches: use a middleware to change
// or refuse something.
//
// Any field may be nil, and without an Observer nothing is measured. The functions are called soon after their events, one
// at a time and in the events' order, on the observer's own goroutine: they may block, use the queue, panic or call
// runtime.Goexit without holding up or failing anything else. A panic is logged to slog.Default. An observer that is more
// than 100,000 events behind misses the newest ones, and the log gives their number. A runner that stops, and a store that
// is closed, waits up to two seconds for its observers: see [Observer.Flush].
type Observer struct {
	// Enqueued is called after jobs were added, or after an existing job was found instead. In a caller's transaction
	// that is before the commit.
	Enqueued func(Enqueued)

	// Started is called when an attempt gets its slot.
	Started func(Started)

	// Finished is called once for each attempt that started, when its end is recorded, or when it is known to be lost. A run
	// that ends with an error may omit some: their outcome is not known.
	Finished func(Finished)

	// Rescued is called after this process rescued jobs of dead workers.
	Rescued func(Rescued)

	// Expired is called after this process ended jobs as cancelled that no worker had claimed by the time of StartBy. Finished is
	// called for one that a worker had claimed too late.
	Expired func(Expired)

	// Turned is called after each transaction in which a runner recorded ends of attempts, claimed jobs, or both, or in which a job
	// was added and handed to one.
	Turned func(Turned)

	// Committed is called after each transaction of the engine, with the number of callers' writes that shared it.
	Committed func(writes int, took time.Duration)

	// Queried is called after each statement of sql/queries, with its name. err is the driver's: sql.ErrNoRows is no fault. A
	// statement that is sent with the following one has a duration of 0, and that one reports its error.
	Queried func(name string, took time.Duration, err error)

	// Failed is called when the database failed a read or a transaction: a statement, the commit, or the connection.
	Failed func(err error)

	// Woken is called when a listener, such as a runner without work, is woken to look at the database.
	Woken func(WakeSource)

	queues []*callback.Queue // of the observers that this one calls; empty in an observer that the application made
}

// Enqueued is passed to an [Observer] after an enqueue.
type Enqueued struct {
	Kind, Queue string
	Jobs        int  // number of added jobs; 0 when Existed
	Existed     bool // a job with the same unique key or request id existed
	InTx        bool // in a caller's transaction, which may still be rolled back
}

// Started is passed to an [Observer] when an attempt begins.
type Started struct {
	Kind, Queue string
	ID          int64
	Attempt     int
	Waited      time.Duration // since the job fell due, or was added if that was later
}

// Finished is passed to an [Observer] after the end of an attempt.
type Finished struct {
	Kind, Queue string
	ID          int64
	Attempt     int
	Fate        Fate
	Cause       Cause         // the cause of a failed attempt, or of one whose worker could not run the job; else empty
	Error       string        // the message of that attempt's error
	Took        time.Duration // from the start of the attempt until its handler returned, or was given up
}

// Rescued is passed to an [Observer] after a rescue.
type Rescued struct {
	Worker   string // the name of the worker found dead now; empty if it was known before, or its leases were over
	Reason   Cause  // CauseCrash when its lock was free, CauseLost when a lease was over
	Attempts int    // running ones
	// The numbers of their jobs by new status.
	Pending, Failed, Cancelled int
}

// Expired is passed to an [Observer] after jobs of one kind and queue were ended because no worker had started them in time.
type Expired struct {
	Kind, Queue string
	Jobs        int
}

// Turned is passed to an [Observer] after a transaction of a runner.
type Turned struct {
	Recorded int // ends of attempts
	Claimed  int // jobs
	Promoted int // scheduled jobs that have become pending
	Took     time.Duration
}

// Fate is the result of an attempt for its job.
type Fate string

const (
	FateDone      Fate = "done"
	FateRetry     Fate = "retry"     // failed, with attempts left
	FateFailed    Fate = "failed"    // for good
	FateCancelled Fate = "cancelled" // its handler or a request cancelled the job
	FateSnoozed   Fate = "snoozed"   // put off; the attempt does not count
	FateReleased  Fate = "released"  // released unfinished by a stopping runner; the attempt does not count
	FateUnable    Fate = "unable"    // put off, because its worker could not run it; the attempt does not count
	FateLost      Fate = "lost"      // the lease was lost: another worker has the job, or it is deleted
)

// In the order of the constants.
var fates = [...]Fate{FateDone, FateRetry, FateFailed, FateCancelled, FateSnoozed, FateReleased, FateUnable, FateLost}

// Fates returns all fates.
func Fates() []Fate { return append([]Fate(nil), fates[:]...) }

// WakeSource says why a process looks for work.
type WakeSource string

const (
	WakeLocal  WakeSource = "local"  // a commit of the same process
	WakeEvent  WakeSource = "event"  // SQLite: the system reported a write to the database's files
	WakeNotify WakeSource = "notify" // PostgreSQL: a notification
	WakePoll   WakeSource = "poll"   // frequent polling, where there are no events
	WakeSafety WakeSource = "safety" // the safety look each second, without an event
	WakeStart  WakeSource = "start"  // the watch or the listening started, perhaps again
	WakeTimer  WakeSource = "timer"  // a scheduled job falls due, or it is time to look again
)

// In the order of the constants.
var wakeSources = [...]WakeSource{WakeLocal, WakeEvent, WakeNotify, WakePoll, WakeSafety, WakeStart, WakeTimer}

// WakeSources returns all sources.
func WakeSources() []WakeSource { return append([]WakeSource(nil), wakeSources[:]...) }

// Observers returns an observer that calls each one of a list, in its order; nil for none. It omits nil ones. Its own
// functions never block: each observer of the list has a goroutine that calls its functions. Engines pass the given
// observers to Observers.
func Observers(list ...*Observer) *Observer {
	var all *Observer
	for _, o := range list {
		switch {
		case o == nil:
		case all == nil:
			all = queued(o)
		default:
			all = joinObservers(all, queued(o))
		}
	}
	return all
}

// queued returns an observer that calls the functions of another one by a queue.
func queued(o *Observer) *Observer {
	if len(o.queues) > 0 {
		return o
	}
	q := callback.NewQueue(eventLimit, func(err error) { slog.Default().Error("an observer of the queue failed", "error", err) })
	told := &Observer{
		Enqueued: later(q, o.Enqueued),
		Started:  later(q, o.Started),
		Finished: later(q, o.Finished),
		Rescued:  later(q, o.Rescued),
		Expired:  later(q, o.Expired),
		Turned:   later(q, o.Turned),
		Failed:   later(q, o.Failed),
		Woken:    later(q, o.Woken),
		queues:   []*callback.Queue{q},
	}
	if o.Committed != nil {
		told.Committed = func(writes int, took time.Duration) { q.Add(func() { o.Committed(writes, took) }) }
	}
	if o.Queried != nil {
		told.Queried = func(name string, took time.Duration, err error) { q.Add(func() { o.Queried(name, took, err) }) }
	}
	return told
}

// later returns a function that calls f by a queue; nil if f is nil.
func later[A any](q *callback.Queue, f func(A)) func(A) {
	if f == nil {
		return nil
	}
	return func(a A) { q.Add(func() { f(a) }) }
}

// Flush waits until the functions of an observer have returned for all earlier events, for a test or a program that ends.
// Call it on the result of Observers, and give the same to WithObserver: any other observer has no queue, and Flush returns
// at once. The error is ctx's. It may be called on nil.
func (o *Observer) Flush(ctx context.Context) error {
	if o == nil {
		return nil
	}
	for _, q := range o.queues {
		if err := q.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

func joinObservers(a, b *Observer) *Observer {
	return &Observer{
		Enqueued:  call(a.Enqueued, b.Enqueued),
		Started:   call(a.Started, b.Started),
		Finished:  call(a.Finished, b.Finished),
		Rescued:   call(a.Rescued, b.Rescued),
		Expired:   call(a.Expired, b.Expired),
		Turned:    call(a.Turned, b.Turned),
		Failed:    call(a.Failed, b.Failed),
		Woken:     call(a.Woken, b.Woken),
		Committed: call2(a.Committed, b.Committed),
		Queried:   call3(a.Queried, b.Queried),
		queues:    slices.Concat(a.queues, b.queues),
	}
}

// call calls two functions, of which either may be nil.
func call[A any](f, g func(A)) func(A) {
	if f == nil {
		return g
	}
	if g == nil {
		return f
	}
	return func(a A) { f(a); g(a) }
}

func call2[A, B any](f, g func(A, B)) func(A, B) {
	if f == nil {
		return g
	}
	if g == nil {
		return f
	}
	return func(a A, b B) { f(a, b); g(a, b) }
}

func call3[A, B, C any](f, g func(A, B, C)) func(A, B, C) {
	if f == nil {
		return g
	}
	if g == nil {
		return f
	}
	return func(a A, b B, c C) { f(a, b, c); g(a, b, c) }
}
