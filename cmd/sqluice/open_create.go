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

// withCreatedClient calls fn with a client of the database. It creates and migrates a SQLite file that does not exist. It does not migrate
// an existing database: on another version of the schema the error is a [jobs.SchemaError].
func (a *app) withCreatedClient(ctx context.Context, durability durabilityFor, fn func(*jobs.Client) error) error {
	return a.withCreatedObservedClient(ctx, durability, nil, nil, fn)
}

// withCreatedObservedClient is withCreatedClient with an observer of the store and a log for the engine's messages. Both may be nil.
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

// beforeMaking returns the error of validate before a command creates a SQLite file. It does nothing for PostgreSQL, which compares times
// with the server's clock.
func (a *app) beforeMaking(validate func() error, fields map[string]string) error {
	d, err := a.database()
	if err != nil || d.Postgres() {
		return err
	}
	return nameFlags(validate(), fields)
}

// openOrCreateFile opens a SQLite file, which it creates and migrates if it does not exist. Several processes may do so at the same time:
// one of them creates the tables and the others wait. It returns an error unless the program runs on the schema of the file.
func openOrCreateFile(ctx context.Context, path string, opts ...sqlite.Option) (*sqlite.Store, error) {
	store, err := sqlite.Open(ctx, path, append(opts, sqlite.MigrateEmpty())...)
	if err != nil {
		return nil, err
	}
	if err := jobs.New(store).CheckSchema(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), closeStore(store))
	}
	return store, nil
}
