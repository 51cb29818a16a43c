// Package sqlite is the queue's engine on SQLite (modernc.org/sqlite, pure Go, WAL): any number of processes share one
// database file.
//
// A process writes through one connection, which commits all waiting writes together. Beside the database jobs.db is a
// folder jobs.db-sqluice with small lock files; it may be deleted when no process uses the database.
package sqlite

import (
	"context"
	"database/sql"

	"github.com/sqluice/sqluice/internal/queue/engine"
)

// Store is a queue in a SQLite database file. Make one with [Open] or [New], and close it when all runners have returned. Its methods
// may be called concurrently.
type Store struct {
	sealed
	backend *backend
}

// sealed gives package jobs access to the engine.
type sealed = engine.SealedStore

// Open opens the database in a file, which it creates if it is missing. It does not migrate: see [jobs.Client.Migrate]. The file must be
// on a local file system, because WAL needs shared memory; ":memory:" is refused, because a queue uses several connections.
//
// An application may have its own tables in the file. Each commit to them wakes the idle runners of all processes, which look and find
// nothing: with hundreds a second and many processes, give the queue a separate file.
func Open(ctx context.Context, path string, opts ...Option) (*Store, error) {
	return newStore(openBackend(ctx, path, opts...))
}

// New opens the file of an application's own database with separate connections beside the application's pool, so that jobs and business
// data share the file and [Tx] can join the application's transactions. pool must use modernc.org/sqlite, whose driver may be wrapped,
// for example by otelsql. A pool of another build of SQLite is refused: two builds in one process break each other's locks.
func New(ctx context.Context, pool *sql.DB, opts ...Option) (*Store, error) {
	return newStore(newBackend(ctx, pool, opts...))
}

func newStore(b *backend, err error) (*Store, error) {
	if err != nil {
		return nil, err
	}
	return &Store{b.sealed, b}, nil
}

// Path returns the path of the database's file, absolute and without links.
func (s *Store) Path() string { return s.backend.path }

// WALSize returns the size of the database's WAL in bytes: 0 without one.
func (s *Store) WALSize() (int64, error) { return s.backend.walSize() }

// Health returns warnings about this process's use of the database: that no code may read its files, where the system or the
// application keeps SQLite from using locks of open file descriptions. It is empty without a warning.
func (s *Store) Health() []string {
	if text := unsafeReads(); text != "" {
		return []string{text}
	}
	return nil
}

// Close waits for the running write, stops the watch and closes the connections.
func (s *Store) Close() error { return s.backend.Close() }
