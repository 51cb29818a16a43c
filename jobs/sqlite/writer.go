package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// errNotPrepared is returned by a transaction that comes between a migration and the look at the new schema.
var errNotPrepared = errors.New("the statements are not prepared")

// most is how many callers' functions share a transaction.
const most = 500

// gateRetry is how long writes go on without a gate that could not be opened before it is tried again.
const gateRetry = time.Minute

// writer is the group commit. The first caller that finds no leader becomes the leader: in one transaction it runs its own
// function and those of all callers that wait by then, and hands leadership to a caller that came meanwhile. So a lone caller
// pays for no goroutine switch, and many callers share a commit, with no delay added for either.
type writer struct {
	files    *files
	openGate func() (*gate, error)
	logger   *slog.Logger

	// The leader's own.
	gate      *gate     // nil until it could be opened
	gateAgain time.Time // when a gate that could not be opened is tried again

	committed func(writes int, took time.Duration) // told of each transaction; may be nil
	changed   func()                               // the same, for those who wait for changes

	stmts  sync.Mutex // held during a transaction, and to change what follows
	writes *writes    // nil while the schema is not known to be right

	mu     sync.Mutex
	queue  []*request
	busy   bool // there is a leader
	closed bool
	idle   sync.WaitGroup // leaders at work
}

type request struct {
	fn   func(context.Context, db.Querier) error
	ctx  context.Context
	err  error
	wake chan bool // true: lead; false: err is the outcome
}

// do runs fn in a transaction. ctx's end counts only until fn starts.
func (w *writer) do(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	r := &request{fn: fn, ctx: ctx, wake: make(chan bool, 1)}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return jobs.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		w.mu.Unlock()
		return err
	}
	w.queue = append(w.queue, r)
	lead := !w.busy
	if lead {
		w.busy = true
		w.idle.Add(1)
	}
	w.mu.Unlock()

	if !lead {
		select {
		case lead = <-r.wake:
		case <-ctx.Done():
			if w.leave(r) {
				return ctx.Err()
			}
			lead = <-r.wake // too late: it is being run, or was chosen to lead
		}
	}
	if lead {
		w.lead(r)
	}
	return r.err
}

// leave takes a request out of the queue; false means that it is not there any more.
func (w *writer) leave(r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, waiting := range w.queue {
		if waiting == r && len(r.wake) == 0 { // else it was chosen to lead
			w.queue = append(w.queue[:i], w.queue[i+1:]...)
			return true
		}
	}
	return false
}

// errUnfinished is the error of a write that was neither committed nor refused: a function of its group panicked outside
// the transaction, or called runtime.Goexit.
var errUnfinished = errors.New("the write was given up: a function of its transaction did not return")

// lead runs one group, of which r is a part, and hands on, however the group's functions end.
func (w *writer) lead(r *request) {
	defer w.idle.Done()
	w.mu.Lock()
	group := w.queue[:min(most, len(w.queue)):min(most, len(w.queue))]
	w.queue = w.queue[len(group):]
	w.mu.Unlock()

	ran := false
	defer func() {
		if !ran {
			for _, member := range group {
				member.err = errUnfinished
			}
		}
		w.handOn(r, group)
	}()
	w.run(group)
	ran = true
}

// handOn wakes the members of a group that has run, and the next leader.
func (w *writer) handOn(r *request, group []*request) {
	for _, other := range group { // before others go on: they may come again in time for the next group
		if other != r {
			other.wake <- false
		}
	}
	w.mu.Lock()
	if len(w.queue) > 0 {
		w.idle.Add(1)
		w.queue[0].wake <- true
	} else {
		w.busy = false
		w.queue = nil
	}
	w.mu.Unlock()
}

// run commits a group together, or, when one of its functions or the commit fails, each by itself: an error then
// belongs to the one that caused it, and no statement ever runs after a rollback that SQLite made by itself.
func (w *writer) run(group []*request) {
	w.findGate()
	defer w.gate.lock()()
	w.stmts.Lock()
	defer w.stmts.Unlock()
	group = waiting(group)
	if len(group) == 0 {
		return
	}
	begun, err := w.transactCounted(group...)
	if err == nil {
		return
	}
	if len(group) > 1 && begun && !errors.Is(err, jobs.ErrReplaced) {
		doubt := errors.Is(err, jobs.ErrUnknownOutcome)
		for _, r := range group {
			_, err := w.transactCounted(r)
			r.err = translate(err)
			if doubt && err != nil && !errors.Is(err, jobs.ErrUnknownOutcome) {
				r.err = fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, r.err) // the group's commit may still come to be
			}
		}
		return
	}
	for _, r := range group {
		r.err = translate(err) // no member caused the error: each would meet, and wait for, the same
	}
}

// findGate opens the gate at the first write. Where that fails, as with a folder that this user may not write to, writes
// are as safe without it and less fair, and it is tried again later.
func (w *writer) findGate() {
	if w.gate != nil || time.Now().Before(w.gateAgain) {
		return
	}
	gate, err := w.openGate()
	if err != nil {
		if w.gateAgain.IsZero() {
			w.logger.Warn("sqlite: writes of several processes do not take turns", "database", w.files.main.path, "reason", err)
		}
		w.gateAgain = time.Now().Add(gateRetry)
		return
	}
	w.gate = gate
}

// waiting are those of a group whose context has not ended while they waited for their turn.
func waiting(group []*request) []*request {
	if !slices.ContainsFunc(group, func(r *request) bool { return r.ctx.Err() != nil }) {
		return group
	}
	var left []*request
	for _, r := range group {
		if r.err = r.ctx.Err(); r.err == nil {
			left = append(left, r)
		}
	}
	return left
}

// transactCounted is transact, once more where ids could not be told from how many rows were added.
func (w *writer) transactCounted(group ...*request) (begun bool, err error) {
	if begun, err = w.transact(group...); errors.Is(err, errUncounted) {
		begun, err = w.transact(group...)
	}
	return begun, err
}

// transact runs the functions in one transaction. begun is false when there could not be one.
func (w *writer) transact(group ...*request) (begun bool, err error) {
	if w.writes == nil {
		return false, errNotPrepared
	}
	if err := w.files.intact(); err != nil {
		return false, err
	}
	var began time.Time
	if w.committed != nil {
		began = time.Now()
	}
	if _, err := w.writes.begin.exec(nil); err != nil {
		return false, err
	}
	begun = true
	committed := false
	defer func() {
		if committed {
			return
		}
		// Also after a panic in fn, and after a commit that failed, as on a full disk: it leaves the transaction open.
		_, _ = w.writes.rollback.exec(nil) // its own error adds nothing: SQLite may have rolled back already
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a write: %v", p)
		}
	}()
	w.writes.alike.begin(len(group) >= alikeLeast && !w.writes.uncounted)
	defer w.writes.alike.end()
	for _, r := range group {
		// Not to be cancelled half-way: SQLite would have applied the statement and the caller not know it.
		err := r.fn(context.WithoutCancel(r.ctx), w.writes)
		if err = cmp.Or(w.writes.alike.failed, err); err != nil {
			return begun, err
		}
	}
	if err := w.writes.addWaiting(context.Background()); err != nil {
		return begun, err
	}
	if _, err := w.writes.commit.exec(nil); err != nil {
		return begun, inDoubt(err)
	}
	committed = true
	if w.committed != nil {
		w.committed(len(group), time.Since(began))
	}
	w.changed()
	// A file may have been deleted or replaced since the check before. Then the commit went to a file that no process opens
	// again unless a person moves it back, or to a WAL that only the processes that hold it open can copy to the database.
	if err := w.files.kept(); err != nil {
		if errors.Is(err, jobs.ErrReplaced) {
			err = errors.Join(err, w.writes.salvage())
		}
		return begun, fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, err)
	}
	return begun, nil
}

// version is a number that changes when another connection has committed, and what it was read on, which gives it its meaning.
func (w *writer) version() (version int64, on *writes, err error) {
	w.stmts.Lock() // while a transaction of this process goes on, others commit nothing
	defer w.stmts.Unlock()
	if w.writes == nil {
		return 0, nil, errNotPrepared
	}
	err = w.writes.version.QueryRowContext(context.Background()).Scan(&version)
	return version, w.writes, err
}

// use takes other statements, or none, between two transactions and returns those that were in use.
func (w *writer) use(writes *writes) (old *writes) {
	w.stmts.Lock()
	defer w.stmts.Unlock()
	old, w.writes = w.writes, writes
	return old
}

// close lets the writes that were accepted finish and refuses new ones.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.idle.Wait()
	w.gate.close()
}
