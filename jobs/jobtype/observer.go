package jobtype

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/callback"
)

// eventLimit is how many events may wait for an observer.
const eventLimit = 100_000

// Observer is told what a process does with a queue, for metrics and the like. An engine gets it when it is opened, with its
// option WithObserver; the clients and runners of that store tell it too. It only watches: what is to change or refuse
// something is a middleware.
//
// Any field may be nil, and without an Observer nothing is measured. The functions are called soon after what they tell of,
// one at a time and in its order, on a goroutine of the observer's own: they may block, use the queue, panic or call
// runtime.Goexit without holding up or failing anything else. A panic is logged to slog.Default. An observer that is more
// than 100,000 events behind misses the newest ones, and the log says how many. A runner that stops, and
// a store that is closed, waits up to two seconds for its observers: see [Observer.Flush].
type Observer struct {
	// Enqueued is called after jobs were added, or one was found in place of the one to be added. In a caller's
	// transaction that is before the commit.
	Enqueued func(Enqueued)

	// Started is called when an attempt gets its slot.
	Started func(Started)

	// Finished is called once for each attempt that started, when its end is recorded, or when it is known to be lost. A run
	// that ends with an error may leave some out: what became of them is not known.
	Finished func(Finished)

	// Rescued is called after jobs of workers that are gone were looked after by this process.
	Rescued func(Rescued)

	// Expired is called after this process ended jobs as cancelled that no worker had claimed by the time of StartBy. Finished tells
	// of one that a worker had claimed too late.
	Expired func(Expired)

	// Turned is called after each transaction in which a runner recorded ends of attempts, claimed jobs, or both, or in which a job
	// was added and handed to one.
	Turned func(Turned)

	// Committed is called after each transaction of the engine, with how many writes of callers shared it.
	Committed func(writes int, took time.Duration)

	// Queried is called after each statement of sql/queries, with its name. err is the driver's: sql.ErrNoRows is no fault. A
	// statement that is run or sent with what follows it took no time, and its error is told of that.
	Queried func(name string, took time.Duration, err error)

	// Failed is called when the database failed a read or a transaction: one of its statements, its commit, or the way there.
	Failed func(err error)

	// Woken is called when a listener, such as a runner without work, is woken to look at the database.
	Woken func(WakeSource)

	queues []*callback.Queue // of the observers that this one tells; empty in one that the application made
}

// Enqueued is told to an [Observer] after an enqueue.
type Enqueued struct {
	Kind, Queue string
	Jobs        int  // how many were added; 0 when Existed
	Existed     bool // a job with the same unique key or request id was there
	InTx        bool // in a caller's transaction, which may still be rolled back
}

// Started is told to an [Observer] when an attempt begins.
type Started struct {
	Kind, Queue string
	ID          int64
	Attempt     int
	Waited      time.Duration // since the job fell due, or was added if that was later
}

// Finished is told to an [Observer] after the end of an attempt.
type Finished struct {
	Kind, Queue string
	ID          int64
	Attempt     int
	Fate        Fate
	Cause       Cause         // of a failed attempt, or of one whose worker could not run the job; else empty
	Error       string        // its message
	Took        time.Duration // from the begin of the attempt until its handler returned, or was given up
}

// Rescued is told to an [Observer] after a rescue.
type Rescued struct {
	Worker   string // the name of the one that was found gone now; empty when it was known before, or its leases were over
	Reason   Cause  // CauseCrash when its lock was free, CauseLost when a lease was over
	Attempts int    // that were running
	// What has become of their jobs.
	Pending, Failed, Cancelled int
}

// Expired is told to an [Observer] after jobs of one kind and queue were ended because no worker had started them in time.
type Expired struct {
	Kind, Queue string
	Jobs        int
}

// Turned is told to an [Observer] after a transaction of a runner.
type Turned struct {
	Recorded int // ends of attempts
	Claimed  int // jobs
	Promoted int // scheduled jobs that have become pending
	Took     time.Duration
}

// Fate is what becomes of a job after an attempt.
type Fate string

const (
	FateDone      Fate = "done"
	FateRetry     Fate = "retry"     // failed, with attempts left
	FateFailed    Fate = "failed"    // for good
	FateCancelled Fate = "cancelled" // by its handler or by request
	FateSnoozed   Fate = "snoozed"   // put off; the attempt does not count
	FateReleased  Fate = "released"  // given back unfinished by a stopping runner; the attempt does not count
	FateUnable    Fate = "unable"    // put off, because its worker could not run it; the attempt does not count
	FateLost      Fate = "lost"      // the lease was lost: the job is another's, or deleted
)

// In the order of the constants.
var fates = [...]Fate{FateDone, FateRetry, FateFailed, FateCancelled, FateSnoozed, FateReleased, FateUnable, FateLost}

// Fates returns all fates.
func Fates() []Fate { return append([]Fate(nil), fates[:]...) }

// WakeSource is how a process found out that there may be something to do.
type WakeSource string

const (
	WakeLocal  WakeSource = "local"  // a commit of the same process
	WakeEvent  WakeSource = "event"  // SQLite: the system told of a write to the database's files
	WakeNotify WakeSource = "notify" // PostgreSQL: a notification
	WakePoll   WakeSource = "poll"   // looking often, where nothing tells
	WakeSafety WakeSource = "safety" // the look each second at what nothing told of
	WakeStart  WakeSource = "start"  // the watch or the listening began, maybe anew
	WakeTimer  WakeSource = "timer"  // a scheduled job falls due, or it is time to look again
)

// In the order of the constants.
var wakeSources = [...]WakeSource{WakeLocal, WakeEvent, WakeNotify, WakePoll, WakeSafety, WakeStart, WakeTimer}

// WakeSources returns all sources.
func WakeSources() []WakeSource { return append([]WakeSource(nil), wakeSources[:]...) }

// Observers returns an observer that tells each one of a list, in its order; nil for none. It leaves out those that are
// nil. Its own functions never block: each observer of the list has a goroutine that calls its functions. Engines call
// Observers with what they are given.
func Observers(list ...*Observer) *Observer {
	var all *Observer
	for _, o := range list {
		switch {
		case o == nil:
		case all == nil:
			all = queued(o)
		default:
			all = both(all, queued(o))
		}
	}
	return all
}

// queued returns an observer whose functions have those of another one called by a queue.
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

// later returns a function that has f called by a queue; nil when f is.
func later[A any](q *callback.Queue, f func(A)) func(A) {
	if f == nil {
		return nil
	}
	return func(a A) { q.Add(func() { f(a) }) }
}

// Flush waits until the functions of an observer have returned for everything that happened before, as a test or a program
// that ends needs it. Call it on what Observers returned, and give the same to WithObserver: any other observer has no queue,
// and Flush returns at once. The error is ctx's. It may be called on nil.
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

func both(a, b *Observer) *Observer {
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
