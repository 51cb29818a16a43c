package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/db"
)

// Client enqueues, inspects and manages jobs. Make one with [New]; it has no zero value, and all its methods may be
// called concurrently. Clients are cheap: they hold no resources but their store's.
type Client struct {
	given      Store // what it was made with
	store      Store // the same, observed
	tx         Tx    // when not nil, everything runs inside this transaction
	middleware []EnqueueMiddleware
	around     EnqueueFunc // nil without middleware
	desk       *desk

	marks    *marks
	revealed bool // it shows what is sensitive
}

// New returns a client of the queue in a store.
func New(store Store, opts ...ClientOption) *Client {
	c := &Client{given: store, store: observe(store), desk: &desk{}, marks: newMarks()}
	for _, opt := range opts {
		opt(c)
	}
	c.around = c.wrapped()
	return c
}

// With returns a client whose enqueues and reads run inside the caller's transaction: what it enqueues exists when and
// only when the transaction commits, and a change that fails leaves nothing of it there. It must not be used after that.
// Wait, Migrate and Backup need a client outside. [Client.Tx] is for programs that have no transaction.
func (c *Client) With(tx Tx) *Client {
	inside := *c
	inside.tx = tx
	return &inside
}

// Store is what the client was made with.
func (c *Client) Store() Store { return c.given }

// Migrate brings the database's schema to the version this library was built for and returns the names of the
// migrations that ran: none when there was nothing to do. Safe in several processes at once.
func (c *Client) Migrate(ctx context.Context) ([]string, error) {
	names, err := c.store.Migrate(ctx)
	if err != nil {
		return names, fmt.Errorf("migrate: %w", err)
	}
	return names, nil
}

// Backup writes a consistent copy of the database to a file that must not exist yet, while everything runs.
func (c *Client) Backup(ctx context.Context, path string) error {
	if err := c.store.Backup(ctx, path); err != nil {
		return fmt.Errorf("back up to %s: %w", path, err)
	}
	return nil
}

// CheckSchema returns a [SchemaError] unless the database's schema is the one this library was built for.
func (c *Client) CheckSchema(ctx context.Context) error {
	done, err := c.store.Shared().schemaChecks.take(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	defer done(0)
	return checkSchema(ctx, c.store)
}

func checkSchema(ctx context.Context, store Store) error {
	have, want, err := store.SchemaVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if have != want {
		return &SchemaError{Have: have, Want: want}
	}
	return nil
}

// read runs fn over the connections for inspection, or in the caller's transaction.
func (c *Client) read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	if c.tx != nil {
		return c.join(ctx, fn)
	}
	if err := c.outside(ctx); err != nil {
		return err
	}
	return c.store.Inspect(ctx, fn)
}

// join runs fn in the caller's transaction.
func (c *Client) join(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	q, err := c.store.Join(c.tx)
	if err != nil {
		return err
	}
	return fn(ctx, q)
}

// write runs fn in a transaction and then announces what it made true. In the caller's transaction the commit is
// still to come: telling of it is Join's business. When fn fails half-way nothing of it is left there, which the caller may
// commit all the same: a change without the notes of it, or one that came too late for a move.
func (c *Client) write(ctx context.Context, signals Signal, fn func(context.Context, db.Querier) error) error {
	if c.tx != nil {
		return part(ctx, c.tx, func() error { return c.join(ctx, fn) })
	}
	if err := c.outside(ctx); err != nil {
		return err
	}
	if err := c.store.Write(ctx, fn); err != nil {
		return err
	}
	if signals != 0 {
		c.store.Announce(signals)
	}
	return nil
}

// part runs fn as a part of a transaction that is there as a whole or not at all: what fn has done is undone when it returns an
// error, and the transaction is as it was before, unless the database has broken it off. The end of ctx does not keep it from
// undoing.
func part(ctx context.Context, tx Tx, fn func() error) error {
	if err := tx.Savepoint(ctx, "savepoint"); err != nil {
		return err
	}
	err := fn()
	end := []string{"release"}
	if err != nil {
		end = []string{"rollback_to", "release"}
	}
	for _, statement := range end {
		if failed := tx.Savepoint(context.WithoutCancel(ctx), statement); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return err
}
