package jobs

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
)

// Client enqueues, inspects and manages jobs. Make one with [New]; it has no zero value, and all its methods may be
// called concurrently. Clients are cheap: they hold no resources but their store's.
type Client struct {
	store Store
	tx    Tx // when not nil, everything runs inside this transaction
}

// New returns a client of the queue in a store.
func New(store Store) *Client { return &Client{store: store} }

// In returns a client whose enqueues and reads run inside the caller's transaction: what it enqueues exists when and
// only when the transaction commits. It must not be used after that. Wait, Migrate and Backup need a client outside.
func (c *Client) In(tx Tx) *Client { return &Client{store: c.store, tx: tx} }

// Store is what the client was made with.
func (c *Client) Store() Store { return c.store }

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
	have, want, err := c.store.SchemaVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if have != want {
		return &SchemaError{Have: have, Want: want}
	}
	return nil
}

func (c *Client) read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	if c.tx != nil {
		return c.join(ctx, fn)
	}
	return c.store.Read(ctx, fn)
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
// still to come: telling of it is Join's business.
func (c *Client) write(ctx context.Context, signals Signal, fn func(context.Context, db.Querier) error) error {
	return c.writeBy(ctx, c.store.Write, signals, fn)
}

// writeBy is write by one of the store's ways to do so.
func (c *Client) writeBy(
	ctx context.Context, write func(context.Context, func(context.Context, db.Querier) error) error,
	signals Signal, fn func(context.Context, db.Querier) error,
) error {
	if c.tx != nil {
		return c.join(ctx, fn)
	}
	if err := write(ctx, fn); err != nil {
		return err
	}
	if signals != 0 {
		c.store.Announce(signals)
	}
	return nil
}
