package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/groupcommit"
	"github.com/sqluice/sqluice/jobs"
)

// errNotPrepared is returned by a transaction between a migration and the check of the new schema.
var errNotPrepared = errors.New("the statements are not prepared")

const (
	// busyWait is the longest time that a call waits for another program that holds the lock.
	busyWait = 5 * time.Second

	// busyLeast is the time for which the lock must have been taken before a call gives up that has waited busyWait for other writers.
	busyLeast = 250 * time.Millisecond
)

// groupMembers is the largest number of callers in a transaction.
const groupMembers = 500

// gateRetry is the time until a gate that could not be opened is tried again; meanwhile writes go without it.
const gateRetry = time.Minute

// writer runs all writes of the process; waiting writes share a transaction.
type writer struct {
	groups   *groupcommit.Committer[*write]
	files    *files
	openGate func() (*gate, error)
	logger   *slog.Logger

	turn      chan struct{} // holds a value during a group's turn, which guards the fields below
	gate      *gate         // nil until it was opened
	gateAgain time.Time     // when to try again to open the gate
	openGated func()        // unlocks the gate
	began     time.Time     // start of the transaction, if committed is set
	looked    bool          // the files were checked before it
	lone      bool          // no transaction has begun, because the group's only write may need none: see runLone
	busySince time.Time     // when it first met another program's lock since the last transaction
	busySeen  time.Time     // when it last met it

	committed func(writes int, took time.Duration) // called after each transaction; may be nil
	changed   func()                               // the same, for listeners to any change

	stmts  sync.Mutex // held during a transaction, and to change the fields below
	writes *writes    // nil unless the schema was found to be right

	claimsMany bool // the last claim returned many jobs
}

func newWriter(files *files, openGate func() (*gate, error), logger *slog.Logger) *writer {
	w := &writer{files: files, openGate: openGate, logger: logger, turn: make(chan struct{}, 1)}
	w.groups = &groupcommit.Committer[*write]{
		Run: w.run, Acquire: w.acquire, Release: w.release, Patience: busyWait, Groups: 1, Members: groupMembers,
	}
	return w
}

// errUnfinished is the error of a write whose commit did not return.
var errUnfinished = fmt.Errorf("%w: the commit did not return", jobs.ErrUnknownOutcome)

// acquire waits for the turn of a group among those of this and other processes, and begins its transaction, unless its leader m is alone
// and may need none. It waits for another program at most busyWait after m came, and never longer than the context of m.
func (w *writer) acquire(m *member) error {
	select {
	case w.turn <- struct{}{}:
	case <-m.Ctx.Done():
		return core.EndOf(m.Ctx)
	}
	err := w.acquireFile(m)
	if err == nil {
		return nil
	}
	<-w.turn
	return translate(err)
}

func (w *writer) acquireFile(m *member) (err error) {
	w.findGate()
	if w.openGated, err = w.gate.lock(m.Ctx); err != nil {
		return err
	}
	w.stmts.Lock()
	if w.lone = m.Work.isOneStatement() && w.groups.Waiting() == 0; w.lone {
		return nil
	}
	if err = w.begin(m.Ctx, m.Came); err != nil {
		w.stmts.Unlock()
		w.openGated()
	}
	return err
}

// idle runs fn on the writer's connection, unless a transaction is running there or the schema is not known to be right. It reports
// whether it ran fn. All writes wait for the end of fn, which must not use the store.
func (w *writer) idle(fn func(*writes) error) (done bool, err error) {
	if !w.stmts.TryLock() {
		return false, nil
	}
	defer w.stmts.Unlock()
	if w.writes == nil {
		return false, nil
	}
	return true, fn(w.writes)
}

// release undoes acquire, after the transaction has ended.
func (w *writer) release() {
	w.stmts.Unlock()
	w.openGated()
	<-w.turn
}

// begin begins a transaction. While another program holds the lock it tries again, and lets others use the connection between two tries:
// each try is short, so that the end of ctx ends the wait. A call waits for busyWait from when it came, including the time that others
// have waited for the same lock before it. The caller holds stmts.
func (w *writer) begin(ctx context.Context, came time.Time) error {
	if w.committed != nil {
		w.began = time.Now()
	}
	for {
		if err := w.check(); err != nil {
			return err
		}
		err := w.writes.exec("begin")
		if err == nil || !isCode(err, lib.SQLITE_BUSY) {
			w.busySince = time.Time{}
			return err
		}
		if ctx.Err() != nil {
			return core.EndOf(ctx)
		}
		now, seen := time.Now(), w.busySeen
		w.busySeen = now
		if w.busySince.IsZero() || now.Sub(seen) > busyLeast {
			w.busySince = now
		} else if now.Sub(w.busySince) >= busyLeast && now.Sub(came) >= busyWait {
			return err
		}
		w.stmts.Unlock()
		w.stmts.Lock()
	}
}

// check returns an error unless the statements are prepared and the files, where a check is due, exist.
func (w *writer) check() error {
	if w.writes == nil {
		return errNotPrepared
	}
	if w.looked = w.files.due(); w.looked {
		return w.files.intact()
	}
	return nil
}

// run commits a group together, or, if one of its writes or the commit fails, each by itself: an error then belongs to the write
// that caused it, and no statement ever runs after a rollback that SQLite made by itself. A committed write is not repeated,
// whatever a later check finds.
func (w *writer) run(group []*member) {
	if group = w.prepareGroup(group); len(group) == 0 {
		return
	}
	committed, err := w.transact(group...)
	if err == nil {
		settleAll(group, nil)
		return
	}
	if committed || len(group) == 1 || errors.Is(err, jobs.ErrReplaced) {
		settleAll(group, translate(err)) // no member caused the error: each would get the same
		return
	}
	doubt := errors.Is(err, jobs.ErrUnknownOutcome)
	var busy error
	for i, m := range group {
		if busy != nil && time.Since(m.Came) >= busyWait {
			m.Resolve(busy)
			continue
		}
		begun, err := w.again(m)
		if err = translate(err); doubt && err != nil && !errors.Is(err, jobs.ErrUnknownOutcome) {
			err = fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, err) // the group's commit may still take effect
		}
		m.Resolve(err)
		switch {
		case begun || m.Ctx.Err() != nil:
		case errors.Is(err, jobs.ErrBusy):
			busy = err // the others wait for the same lock until they have waited as long
		default:
			settleAll(group[i:], err) // each would get the same, one after the other
			return
		}
	}
}

// again runs one write of a group in its own transaction. begun is false if that transaction could not begin.
func (w *writer) again(m *member) (begun bool, err error) {
	if m.Ctx.Err() != nil {
		return false, core.EndOf(m.Ctx)
	}
	if err := w.begin(m.Ctx, m.Came); err != nil {
		return false, err
	}
	_, err = w.transact(m)
	return true, err
}

// prepareGroup returns the members to run in a transaction, which has begun. A lone insert needs none, unless another program holds the
// lock, or others have joined its group. If its transaction cannot begin, these run one by one, each with its own patience.
func (w *writer) prepareGroup(group []*member) []*member {
	group = waiting(group)
	switch {
	case !w.lone && len(group) == 0:
		_ = w.writes.exec("rollback") // a transaction without a statement has nothing to commit
	case !w.lone || len(group) == 0:
	case len(group) == 1 && w.runLone(group[0]):
		return nil
	default:
		if err := w.begin(group[0].Ctx, group[0].Came); err != nil {
			group[0].Resolve(translate(err))
			return nil
		}
	}
	return group
}

func settleAll(group []*member, err error) {
	for _, m := range group {
		m.Resolve(err)
	}
}

// runLone runs the only write of a group, an insert of one statement, without BEGIN and COMMIT: SQLite then commits the statement itself,
// which saves about a twentieth of the CPU. It returns false, and has done nothing, while another program holds the lock.
func (w *writer) runLone(m *member) (done bool) {
	if w.committed != nil {
		w.began = time.Now()
	}
	err := w.check()
	if err == nil {
		m.Resolve(errUnfinished)
		w.writes.stmts.committing = false
		m.Work.ids, err = w.writes.insert(m.Ctx, &m.Work.insert, m.Work.id[:0])
		switch {
		case err == nil:
			err = w.conclude(1)
		case isCode(err, lib.SQLITE_BUSY):
			return false
		case w.writes.stmts.committing:
			err = inDoubt(err)
		}
	}
	m.Resolve(translate(err))
	return true
}

// findGate opens the gate at the first write. If that fails, for example in a folder that this user may not write to,
// writes are as safe without it but less fair, and it is tried again later.
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

// waiting returns the members of a group whose context has not ended while they waited for their turn, and resolves the others.
func waiting(group []*member) []*member {
	ended := func(m *member) bool { return m.Ctx.Err() != nil }
	if !slices.ContainsFunc(group, ended) {
		return group
	}
	var left []*member
	for _, m := range group {
		if ended(m) {
			m.Resolve(core.EndOf(m.Ctx))
		} else {
			left = append(left, m)
		}
	}
	return left
}

// transact runs the writes in the begun transaction, and ends it. A committed transaction also returns an error if a file of the
// database was deleted or replaced meanwhile, or cannot be checked.
func (w *writer) transact(group ...*member) (committed bool, err error) {
	defer func() {
		if committed {
			return
		}
		// Also after a panic in fn, and after a failed commit, for example on a full disk: it leaves the transaction open.
		_ = w.writes.exec("rollback") // its own error adds nothing: SQLite may have rolled back already
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a write: %v", p)
		}
	}()
	for left := group; len(left) > 0; {
		n, err := w.writes.perform(left)
		if err != nil {
			return false, err
		}
		left = left[n:]
	}
	settleAll(group, errUnfinished)
	if err := w.writes.exec("commit"); err != nil {
		return false, inDoubt(err)
	}
	committed = true
	return true, w.conclude(len(group))
}

// conclude reports a commit of a number of writes. Its error means that a file of the database was deleted or replaced meanwhile, or cannot
// be checked.
func (w *writer) conclude(writes int) error {
	if w.committed != nil {
		w.committed(writes, time.Since(w.began))
	}
	w.changed()
	if !w.looked && !w.files.due() {
		return nil
	}
	// A file may have been deleted or replaced since the last check. Then the commit went to a file that no process opens
	// again unless a person moves it back, or to a WAL that only the processes that hold it open can copy to the database.
	if err := w.files.kept(); err != nil {
		if errors.Is(err, jobs.ErrReplaced) {
			err = errors.Join(err, w.writes.salvage())
		}
		return fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, err)
	}
	return nil
}

// perform runs the first write of a group, together with the following ones that its statement can include. It returns the
// number of these writes.
func (w *writes) perform(group []*member) (n int, err error) {
	if n, err := w.insertBatch(group); n > 0 || err != nil {
		return n, err
	}
	m := group[0]
	if m.Work.fn == nil {
		m.Work.ids, err = w.insert(m.Ctx, &m.Work.insert, m.Work.id[:0])
		return 1, err
	}
	// It must not be cancelled half-way: SQLite would have applied the statement without the caller's knowledge.
	return 1, m.Work.fn(context.WithoutCancel(m.Ctx), w)
}

// version returns a number that changes when another connection has committed, and the statements that read it, which give it its meaning.
func (w *writer) version() (version int64, on *writes, err error) {
	w.stmts.Lock() // during a transaction of this process, others commit nothing
	defer w.stmts.Unlock()
	if w.writes == nil {
		return 0, nil, errNotPrepared
	}
	err = w.writes.stmts.QueryRowContext(context.Background(), control("data_version")).Scan(&version)
	return version, w.writes, err
}

// use sets the statements, or nil, between two transactions and returns the old ones.
func (w *writer) use(writes *writes) (old *writes) {
	w.stmts.Lock()
	defer w.stmts.Unlock()
	old, w.writes = w.writes, writes
	return old
}

// close lets the accepted writes finish and refuses new ones.
func (w *writer) close() {
	w.groups.Close(jobs.ErrClosed)
	w.gate.close()
}
