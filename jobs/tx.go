package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Tx is a caller's own transaction, made by an engine's Tx function (sqlite.Tx, postgres.Tx).
type Tx = jobtype.Tx

// Tx runs fn in a transaction on its own connection and commits it when fn returns nil. All that fn does with its client is committed
// together or not at all. When fn returns an error, panics or calls runtime.Goexit, nothing is; Tx returns fn's error unchanged. When ctx
// has ended by the time that fn returns nil, nothing is committed either, and the error is that of ctx. The error is [ErrUnknownOutcome]
// when the connection broke during the commit, or the server stopped waiting for its synchronous standbys.
//
// On SQLite the transaction holds the database's write lock while fn runs, so that every other writer waits: fn must be short. While fn
// runs, a call of the outer client with fn's context returns an error, because it would wait for itself. In a client that is inside a
// transaction already, fn is a part of that one: its changes are undone when it returns an error.
//
// Tx is for programs that have no transaction; those that have one use [Client.With].
func (c *Client) Tx(ctx context.Context, fn func(ctx context.Context, tx *Client) error) error {
	inTime := func(ctx context.Context, tx *Client) error {
		if err := fn(ctx, tx); err != nil || ctx.Err() == nil {
			return err
		}
		return core.EndOf(ctx)
	}
	if c.scope().Tx != nil {
		return engine.Savepoint(ctx, c.scope().Tx, func() error { return inTime(ctx, c) })
	}
	if err := c.scope().CheckOutside(ctx); err != nil {
		return err
	}
	tx, err := c.store.Transactions().BeginOwn(ctx)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	ended := false
	defer func() {
		if !ended { // fn panicked or called runtime.Goexit
			_ = rollBack(ctx, tx) // the server and the file undo it in any case
		}
	}()
	err = inTime(c.scope().Inside(ctx), c.With(tx))
	ended = true
	if err != nil {
		if failed := rollBack(ctx, tx); failed != nil {
			return errors.Join(err, failed)
		}
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit the transaction: %w", core.EndFirst(ctx, err))
	}
	return nil
}

// rollBack undoes a transaction. It continues for a moment after the end of ctx.
func rollBack(ctx context.Context, tx engine.OwnTx) error {
	ctx, cancel := core.Linger(ctx)
	defer cancel()
	return tx.Rollback(ctx)
}

// CompleteTx ends the handler's job well inside the caller's transaction: the handler's own writes and the end of the job are
// committed together or not at all. result may be nil. The handler then commits and returns nil; if it returns an error, or the
// transaction is rolled back, the job ends as if CompleteTx had not been called: so return the commit's error, since nil after a
// rollback means done, without the result. The error is [ErrLeaseLost] when another worker has taken the job: roll back.
func CompleteTx(ctx context.Context, tx Tx, job Job, result any) error {
	held := job.Holder()
	if held == nil {
		return jobtype.ErrNotHeld("complete", job.ID)
	}
	if err := held.CompleteTx(ctx, tx, result); err != nil {
		return fmt.Errorf("complete job %d: %w", job.ID, err)
	}
	return nil
}
