package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// openDatabase opens a database, which must exist. It does not check the schema. It does not connect to a PostgreSQL server: the first use
// does. log gets the engine's messages, and may be nil. The options apply to SQLite.
func openDatabase(ctx context.Context, d address.Database, log *slog.Logger, opts ...sqlite.Option) (jobs.Store, error) {
	return openObserved(ctx, d, log, nil, opts...)
}

// openObserved is openDatabase with an observer, which may be nil.
func openObserved(ctx context.Context, d address.Database, log *slog.Logger, observer *jobs.Observer, opts ...sqlite.Option) (jobs.Store, error) {
	if d.Postgres() {
		if log == nil {
			log = slog.New(slog.DiscardHandler)
		}
		store, err := postgres.Open(ctx, d.URL, postgres.WithLogger(log), postgres.WithObserver(observer))
		if err != nil {
			return nil, &usageError{err} // the error is of the URL: Open does not connect
		}
		return store, nil
	}
	if log != nil {
		opts = append(opts, sqlite.WithLogger(log))
	}
	store, err := sqlite.Open(ctx, d.Path, append(opts, sqlite.MustExist(), sqlite.WithObserver(observer))...)
	if err != nil {
		return nil, err
	}
	return store, nil
}

// withClient calls fn with a client of the database, which must exist.
func (a *app) withClient(ctx context.Context, fn func(*jobs.Client) error) error {
	return a.withOpened(anyDurability, func(d address.Database, opts []sqlite.Option) (jobs.Store, error) {
		return openDatabase(ctx, d, nil, opts...)
	}, fn)
}

// onClient turns a function that needs a client of a database, which must exist, into a command's function.
func (a *app) onClient(fn func(ctx context.Context, c *jobs.Client, args []string) error) func(*cobra.Command, []string) error {
	return a.do(func(ctx context.Context, args []string) error {
		return a.withClient(ctx, func(c *jobs.Client) error { return fn(ctx, c, args) })
	})
}

// anyDurability returns no option: it is for commands without the flag --durability.
func anyDurability(address.Database) ([]sqlite.Option, error) { return nil, nil }

// withObservedClient is withClient with an observer and a log for the engine's messages. durability returns the options of the writes'
// durability.
func (a *app) withObservedClient(
	ctx context.Context, durability durabilityFor, log *slog.Logger, observer *jobs.Observer, fn func(*jobs.Client) error,
) error {
	return a.withOpened(durability, func(d address.Database, opts []sqlite.Option) (jobs.Store, error) {
		return openObserved(ctx, d, log, observer, opts...)
	}, fn)
}

// withOpened calls fn with a client of the store that open returns for the database and its options of durability.
func (a *app) withOpened(
	durability durabilityFor, open func(address.Database, []sqlite.Option) (jobs.Store, error), fn func(*jobs.Client) error,
) error {
	d, err := a.database()
	if err != nil {
		return err
	}
	opts, err := durability(d)
	if err != nil {
		return err
	}
	options, err := a.clientOptions()
	if err != nil {
		return err
	}
	store, err := open(d, opts)
	if err != nil {
		return hintMissing(err)
	}
	return errors.Join(fn(jobs.New(store, options...)), closeStore(store))
}

func closeStore(store io.Closer) error {
	if err := store.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

func hintMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w (run `sqluice up` to make one, or name another with --db)", err)
	}
	return err
}
