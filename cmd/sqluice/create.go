package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// withCreatedClient calls fn with a client of the database, which it makes and migrates when it is a file and there is
// none. What exists is never migrated, and in PostgreSQL nothing is made: on another version of the schema the error
// is a [jobs.SchemaError].
func (a *app) withCreatedClient(ctx context.Context, durability durabilityFor, fn func(*jobs.Client) error) error {
	return a.withCreatedObservedClient(ctx, durability, nil, nil, fn)
}

// withCreatedObservedClient is withCreatedClient of a store that tells an observer and whose engine's messages log takes. Both
// may be nil.
func (a *app) withCreatedObservedClient(
	ctx context.Context, durability durabilityFor, log *slog.Logger, observer *jobs.Observer, fn func(*jobs.Client) error,
) error {
	return a.withOpened(durability, func(d address.Database, opts []sqlite.Option) (jobs.Store, error) {
		if d.Postgres() {
			return openObserved(ctx, d, log, observer)
		}
		if log != nil {
			opts = append(opts, sqlite.WithLogger(log))
		}
		return openOrCreateFile(ctx, d.Path, append(opts, sqlite.WithObserver(observer))...)
	}, fn)
}

// beforeMaking returns what the library refuses of the command line, before it makes a file. In PostgreSQL nothing is made, and times are
// compared with the server's clock.
func (a *app) beforeMaking(validate func() error, fields map[string]string) error {
	d, err := a.database()
	if err != nil || d.Postgres() {
		return err
	}
	return nameFlags(validate(), fields)
}

// openOrCreateFile opens the database, which it makes and migrates when there is none. Several processes may do so at
// once: one of them makes the tables and the others wait.
func openOrCreateFile(ctx context.Context, path string, opts ...sqlite.Option) (*sqlite.Store, error) {
	return openChecked(ctx, path, append([]sqlite.Option{sqlite.MigrateEmpty()}, opts...))
}

// openChecked opens a database of this version of the schema.
func openChecked(ctx context.Context, path string, opts []sqlite.Option) (*sqlite.Store, error) {
	store, err := sqlite.Open(ctx, path, opts...)
	if err != nil {
		return nil, err
	}
	if err := jobs.New(store).CheckSchema(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), closeStore(store))
	}
	return store, nil
}
