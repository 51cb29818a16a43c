package postgres

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// watch ends a context when a statement takes longer than silence: a connection may be dead without either end being
// told, and the write that waits for it must not wait for ever.
type watch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	silence time.Duration
	first   time.Duration // that of the next statement, if not 0
}

func newWatch(parent context.Context, silence time.Duration) *watch {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(silence, func() { cancel(errSilent) })
	return &watch{ctx: ctx, cancel: cancel, timer: timer, silence: silence}
}

// extend begins another statement.
func (w *watch) extend() {
	w.timer.Reset(cmp.Or(w.first, w.silence))
	w.first = 0
}

// end stops the watch and says why err happened.
func (w *watch) end(err error) error {
	w.timer.Stop()
	err = w.cause(err)
	w.cancel(nil)
	return err
}

// cause is err, or what stands behind it when the watch ended the context.
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
