package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

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
	return a.withOpened(durability, func(d database, opts []sqlite.Option) (jobs.Store, error) {
		if d.postgres() {
			return openObserved(ctx, d, log, observer)
		}
		if log != nil {
			opts = append(opts, sqlite.WithLogger(log))
		}
		return openOrCreateFile(ctx, d.path, append(opts, sqlite.WithObserver(observer))...)
	}, fn)
}

// openOrCreateFile looks a second time under the creation lock before it gives up on a file, because another process may
// just be making it: of two that find no file, one makes it and the other finds it ready.
func openOrCreateFile(ctx context.Context, path string, opts ...sqlite.Option) (*sqlite.Store, error) {
	existing := append([]sqlite.Option{sqlite.MustExist()}, opts...)
	store, err := openChecked(ctx, path, existing)
	var schema *jobs.SchemaError
	if err == nil || !errors.Is(err, os.ErrNotExist) && !errors.As(err, &schema) {
		return store, err
	}
	if _, statErr := os.Stat(path + "-sqluice"); schema != nil && errors.Is(statErr, os.ErrNotExist) {
		return nil, err // somebody else's database: nothing is left beside it
	}
	unlock, err := lockCreation(ctx, path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return openChecked(ctx, path, existing)
	}
	if err := makeDatabase(ctx, path); err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	return openChecked(ctx, path, existing)
}

// makeDatabase makes the database under another name and gives it its own when it is complete, so that a full disk or
// a kill half-way leaves nothing that the next use would stumble over. The caller holds the creation lock.
func makeDatabase(ctx context.Context, path string) error {
	draft := path + "-new"
	if err := removeDatabase(draft); err != nil { // what a killed process left
		return err
	}
	err := migrateFile(ctx, draft)
	if err == nil {
		err = os.Rename(draft, path)
	}
	return errors.Join(err, removeDatabase(draft))
}

func migrateFile(ctx context.Context, path string) error {
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	_, err = jobs.New(store).Migrate(ctx)
	return errors.Join(err, closeStore(store)) // the last close moves the WAL into the file
}

// removeDatabase removes a database that nobody uses, with the files beside it.
func removeDatabase(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", "-sqluice"} {
		errs = append(errs, os.RemoveAll(path+suffix))
	}
	return errors.Join(errs...)
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

// lockCreation waits until no other process makes a database at path. The lock is a file in the engine's side folder.
func lockCreation(ctx context.Context, path string) (unlock func(), err error) {
	side := path + "-sqluice"
	if err := os.Mkdir(side, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	lock := flock.New(filepath.Join(side, "create"), flock.SetPermissions(0o666)) // less the umask
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	return func() { _ = lock.Unlock() }, nil // the process's end releases it in any case
}
