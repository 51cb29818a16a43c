package jobs

import (
	"context"
	"errors"
	"fmt"
)

// Tx is a caller's own transaction, made by an engine's Tx function (sqlite.Tx, postgres.Tx).
type Tx interface {
	// Handle is what the engine's Join knows its own transactions by.
	Handle() any

	// Savepoint runs the engine's statement of that name: savepoint, which sets one, rollback_to, which undoes what came after
	// it, or release, which forgets it.
	Savepoint(ctx context.Context, statement string) error
}

// OwnTx is a transaction that an engine began for [Client.Tx].
type OwnTx interface {
	Tx

	// Commit ends the transaction. The error says whether it was committed: when that is not known it is ErrUnknownOutcome.
	Commit(ctx context.Context) error

	// Rollback undoes the transaction, also after a Commit that failed.
	Rollback(ctx context.Context) error
}

// errOuterClient is returned inside [Client.Tx] by the client that began the transaction.
var errOuterClient = errors.New("this client is outside the transaction of Client.Tx: use the client that the function was given")

// Tx runs fn in a transaction on a connection of its own and commits it when fn returns nil. All that fn does with the client
// that it is given is committed together or not at all. When fn returns an error, panics or calls runtime.Goexit, nothing
// is; Tx returns fn's error as it is. The error is [ErrUnknownOutcome] when the connection broke during the commit.
//
// On SQLite the transaction holds the database's write lock while fn runs, so that every other writer waits: fn must be
// short. The client outside is refused with an error while fn runs with its context, because it would wait for itself. In
// a client that is inside a transaction already, fn is a part of that one: what it did is undone when it returns an error.
//
// Tx is for programs that have no transaction; those that have one use [Client.With].
func (c *Client) Tx(ctx context.Context, fn func(ctx context.Context, tx *Client) error) error {
	if c.tx != nil {
		return part(ctx, c.tx, func() error { return fn(ctx, c) })
	}
	if err := c.outside(ctx); err != nil {
		return err
	}
	tx, err := c.store.BeginOwn(ctx)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	ended := false
	defer func() {
		if !ended { // fn panicked or called runtime.Goexit
			_ = tx.Rollback(context.WithoutCancel(ctx)) // the server and the file undo it in any case
		}
	}()
	err = fn(context.WithValue(ctx, insideTx{}, c.given), c.With(tx))
	ended = true
	if err != nil {
		return errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit the transaction: %w", err)
	}
	return nil
}

// insideTx is the key of the store whose transaction a context belongs to.
type insideTx struct{}

// outside returns an error when ctx belongs to a transaction of the store, which an operation outside would wait for.
func (c *Client) outside(ctx context.Context) error {
	if store, inside := ctx.Value(insideTx{}).(Store); inside && store == c.given {
		return errOuterClient
	}
	return nil
}
