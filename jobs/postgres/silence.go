package postgres

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// watch ends a context when a statement takes longer than silence: a connection may be dead without notice to either
// end, and a write must not wait for it for ever.
type watch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	silence time.Duration
	first   time.Duration // limit of the next statement, if not 0

	caller context.Context // caller's context of a commit: its end ends ctx too, a moment later; else nil
	until  atomic.Int64    // deadline of the commit, in nanoseconds
	ending atomic.Bool     // caller had ended at the last look

	began time.Time         // start of the commit
	hangs func(*watch) bool // reports whether the server still works on the commit; only look uses hangs and ask
	ask   time.Time         // time of the next call of hangs
}

// askedIn is the number of times in the silence of a commit that the server is asked whether it still works on it.
const askedIn = 6

func (w *watch) askEvery() time.Duration {
	return w.silence / askedIn
}

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

func newWatch(parent context.Context, silence time.Duration) *watch {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(silence, func() { cancel(errSilent) })
	return &watch{ctx: ctx, cancel: cancel, timer: timer, silence: silence}
}

// newCommitWatch returns a watch that continues for a moment after the caller's context ends. Its timer checks that context, which costs
// a commit less than a function that runs at the context's end. The silence of a commit does not expire while hangs returns true: the
// server may wait for a standby, and giving up the connection cancels that wait.
func newCommitWatch(caller context.Context, silence time.Duration, hangs func(*watch) bool) *watch {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(caller))
	now := time.Now()
	w := &watch{ctx: ctx, cancel: cancel, silence: silence, caller: caller, began: now, hangs: hangs}
	w.ask = now.Add(w.askEvery())
	w.until.Store(now.Add(silence).UnixNano())
	w.timer = time.AfterFunc(silence, w.look)
	w.timer.Reset(min(w.askEvery(), core.AfterEnd/2)) // only now, because look uses w.timer
	return w
}

// look ends the context of a commit after its limit, or at the second look after the end of the caller's context.
func (w *watch) look() {
	left := time.Until(time.Unix(0, w.until.Load()))
	switch {
	case w.ctx.Err() != nil: // the commit has ended
		return
	case left <= 0:
		w.cancel(errSilent)
		return
	case w.caller.Err() != nil && w.ending.Swap(true):
		w.cancel(core.EndOf(w.caller))
		return
	case w.caller.Err() == nil && !time.Now().Before(w.ask):
		if w.hangs(w) {
			w.extend()
		}
		w.ask = time.Now().Add(w.askEvery())
	}
	w.timer.Reset(min(max(left, 0), w.askEvery(), core.AfterEnd/2))
}

// gaveUp reports whether a commit was ended by the end of the caller's context.
func (w *watch) gaveUp() bool {
	return w.caller != nil && w.ctx.Err() != nil && !errors.Is(context.Cause(w.ctx), errSilent)
}

// extend restarts the limit for another statement.
func (w *watch) extend() {
	if w.caller != nil {
		w.until.Store(time.Now().Add(w.silence).UnixNano())
		return
	}
	w.timer.Reset(cmp.Or(w.first, w.silence))
	w.first = 0
}

// end stops the watch and returns the cause of err.
func (w *watch) end(err error) error {
	w.timer.Stop()
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
