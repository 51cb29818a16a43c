package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// watches are the running watches of a store. One timer looks at all of them: a timer for each would take a tenth of the CPU of an
// insert. Its methods may be called concurrently.
type watches struct {
	silence time.Duration // the limit of a statement
	every   time.Duration // the interval of the looks
	epoch   time.Time     // deadlines are counted from here, by a clock that is never set

	mu      sync.Mutex
	running map[*watch]struct{}
	looking bool // a look follows
}

// newWatches returns the watches of statements that end within silence, or the first one of a write within prompt.
func newWatches(silence, prompt time.Duration) *watches {
	every := max(min(silence/askedIn, prompt/askedIn, core.AfterEnd/2), time.Millisecond)
	return &watches{silence: silence, every: every, epoch: time.Now(), running: map[*watch]struct{}{}}
}

// now returns the time since epoch.
func (l *watches) now() time.Duration { return time.Since(l.epoch) }

func (l *watches) add(w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[w] = struct{}{}
	if !l.looking {
		l.looking = true
		time.AfterFunc(l.every, l.look)
	}
}

func (l *watches) remove(w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, w)
}

// look looks at each watch, and again after a while if there are any.
func (l *watches) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for w := range l.running {
		w.look(now)
	}
	if l.looking = len(l.running) > 0; l.looking {
		time.AfterFunc(l.every, l.look)
	}
}

// watch ends a context when a statement takes longer than silence: a connection may be dead without notice to either
// end, and a write must not wait for it for ever.
type watch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	all     *watches
	silence time.Duration
	first   time.Duration // limit of the next statement, if not 0
	until   atomic.Int64  // deadline of the running statement, as a time since the epoch of all

	commit *commitWatch // only of a commit
}

// commitWatch holds the further fields of the watch of a commit. Only looks use them.
type commitWatch struct {
	caller context.Context   // its end ends the context too, a moment later
	ended  time.Duration     // when a look first found the end of caller; 0 before
	began  time.Time         // start of the commit
	hangs  func(*watch) bool // reports whether the server still works on the commit
	ask    time.Duration     // time of the next call of hangs
	asking atomic.Bool       // a call of hangs runs
}

// askedIn is the number of times in the silence of a commit that the server is asked whether it still works on it.
const askedIn = 6

// inTime runs fn, which the server must answer within answerWithin. After that the error is errSilent: the connection counts as lost.
func inTime(ctx context.Context, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errSilent)
	defer cancel()
	err := fn(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errors.Join(errSilent, err)
	}
	return err
}

// watch begins to watch statements, which use the context of the result. The caller must call end.
func (l *watches) watch(parent context.Context) *watch { return l.begin(parent, nil) }

// watchCommit begins to watch a commit, which continues for a moment after the caller's context ends. Looks check that context, which
// costs a commit less than a function that runs at the context's end. The silence of a commit does not expire while hangs returns true:
// the server may wait for a standby, and giving up the connection cancels that wait.
func (l *watches) watchCommit(caller context.Context, hangs func(*watch) bool) *watch {
	c := &commitWatch{caller: caller, began: time.Now(), hangs: hangs, ask: l.now() + l.silence/askedIn}
	return l.begin(context.WithoutCancel(caller), c)
}

func (l *watches) begin(parent context.Context, commit *commitWatch) *watch {
	w := &watch{all: l, silence: l.silence, commit: commit}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.extend()
	l.add(w)
	return w
}

// look ends the context after the limit of the statement, and that of a commit also a moment after the end of the caller's context.
func (w *watch) look(now time.Duration) {
	c := w.commit
	switch {
	case c != nil && c.asking.Load():
	case now >= time.Duration(w.until.Load()):
		w.cancel(errSilent)
	case c == nil:
	case c.caller.Err() != nil && c.ended == 0:
		c.ended = now
	case c.caller.Err() != nil:
		if now-c.ended >= core.AfterEnd/2 {
			w.cancel(core.EndOf(c.caller))
		}
	case now >= c.ask:
		c.asking.Store(true)
		go w.askServer()
	}
}

// askServer extends the limit of a commit on which the server still works.
func (w *watch) askServer() {
	if w.commit.hangs(w) {
		w.extend()
	}
	w.commit.ask = w.all.now() + w.all.silence/askedIn
	w.commit.asking.Store(false)
}

// gaveUp reports whether a commit was ended by the end of the caller's context.
func (w *watch) gaveUp() bool {
	return w.commit != nil && w.ctx.Err() != nil && !errors.Is(context.Cause(w.ctx), errSilent)
}

// extend restarts the limit for another statement.
func (w *watch) extend() {
	limit := w.silence
	if w.first > 0 {
		limit, w.first = w.first, 0
	}
	w.until.Store(int64(w.all.now() + limit))
}

// end stops the watch and returns the cause of err.
func (w *watch) end(err error) error {
	w.all.remove(w)
	err = w.cause(err)
	w.cancel(nil)
	return err
}

// cause returns err, or the reason for which the watch ended the context.
func (w *watch) cause(err error) error {
	if err != nil && errors.Is(context.Cause(w.ctx), errSilent) && !errors.Is(err, errSilent) {
		return errors.Join(errSilent, err)
	}
	return err
}

// watched is a connection whose statements are watched.
type watched struct {
	conn *pgx.Conn
	*watch
}

func (w watched) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	w.extend()
	return w.conn.Exec(ctx, sql, args...)
}

func (w watched) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	w.extend()
	return w.conn.Query(ctx, sql, args...)
}

func (w watched) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	w.extend()
	return w.conn.QueryRow(ctx, sql, args...)
}

// hanging holds the running commits that a live server has not confirmed for long. Its methods may be called concurrently.
type hanging struct {
	mu      sync.Mutex
	commits map[*watch]struct{}
	since   time.Time // when the first of them was added
}

// add records a hanging commit, unless it has ended. It reports whether it is the only one.
func (h *hanging) add(w *watch) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.ctx.Err() != nil {
		return false
	}
	if h.commits == nil {
		h.commits = map[*watch]struct{}{}
	}
	if first = len(h.commits) == 0; first {
		h.since = time.Now()
	}
	h.commits[w] = struct{}{}
	return first
}

// remove drops a commit whose watch has ended. For the last one it returns the time for which commits hung; otherwise 0.
func (h *hanging) remove(w *watch) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, hung := h.commits[w]; !hung {
		return 0
	}
	if delete(h.commits, w); len(h.commits) > 0 {
		return 0
	}
	return max(time.Since(h.since), 1)
}
