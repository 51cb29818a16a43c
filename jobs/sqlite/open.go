// Package sqlite is the queue's engine on SQLite (modernc.org/sqlite, pure Go, WAL): any number of processes share one
// database file.
//
// A process writes through one connection, which commits all waiting writes together. Beside the database jobs.db is a
// folder jobs.db-sqluice with small lock files; it may be deleted when no process uses the database.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// Store is a queue in a SQLite database file. Make one with [Open] or [New], and close it when all runners have returned. Its methods
// may be called concurrently.
type Store struct {
	sealed
	backend *backend
}

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

// openBackend implements Open.
func openBackend(ctx context.Context, path string, opts ...Option) (*backend, error) {
	o := options{logger: slog.Default(), now: time.Now, walLarge: walLarge, glanceEvery: glanceEvery}
	for _, opt := range opts {
		opt(&o)
	}
	o.logger = callback.Logger(o.logger)
	store, err := openFrom(ctx, path, o)
	return core.Result(store, err, "open %s", path)
}

// newBackend implements New.
func newBackend(ctx context.Context, pool *sql.DB, opts ...Option) (*backend, error) {
	if err := checkLibrary(ctx, pool); err != nil {
		return nil, err
	}
	var path string
	if err := pool.QueryRowContext(ctx, control("database_file")).Scan(&path); err != nil {
		return nil, fmt.Errorf("find the pool's database file: %w", translate(err))
	}
	if path == "" {
		return nil, errors.New("the pool's database is in memory: the queue needs a file")
	}
	return openBackend(ctx, path, opts...)
}

func openFrom(ctx context.Context, path string, o options) (*backend, error) {
	path, err := usablePath(path, o.mustExist)
	if err != nil {
		return nil, err
	}
	if err := lockByHandle(); err != nil {
		return nil, err
	}
	suspect, side := suspectWAL{olderWAL(path), time.Now()}, sideFolderOf(path)
	pools, err := openPools(path, o)
	if err != nil {
		return nil, err
	}
	o.mustExist = true
	pools.side, pools.suspect = side, suspect
	s := &backend{path: path, side: side, options: o, pools: pools, locks: workerLocks{side}}
	s.sealed = engine.SealStore(s)
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(suspect.name(err), pools.closeDB())
	}
	s.upkeep = upkeep{backups{s.files, o}, recounts{s.files, side, o, s.Now, pools.ready, s.Write}, s.writer}
	s.schema = &migrator{suspect: suspect, files: s.files, side: side, options: o, readDB: pools.readDB, idle: s.writer.idle, forget: pools.forget}
	tellUnsafeReads(o.logger, path) // after the first lock: a file system may have only POSIX locks
	if o.migrateEmpty {
		if err := s.schema.migrateEmpty(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// usablePath returns the path of the database file without links, after it has checked the file and its file system.
func usablePath(path string, mustExist bool) (string, error) {
	if path == "" || path == ":memory:" || strings.HasPrefix(path, "file:") {
		return "", errors.New("a path to a file is needed, not a memory database or a URI")
	}
	path, err := resolve(path)
	if err != nil {
		return "", err
	}
	if err := checkFile(path, mustExist); err != nil {
		return "", err
	}
	return path, checkFileSystem(filepath.Dir(path))
}

// checkFile checks the database file, which may be missing unless it must exist.
func checkFile(path string, mustExist bool) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return errors.New("it is a directory")
	case err == nil && !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	case err != nil && mustExist:
		return fmt.Errorf("there is no such database: %w", os.ErrNotExist)
	}
	if err == nil {
		if err := checkSingleName(path, info); err != nil {
			return err
		}
	}
	return checkNotStale(path)
}

// resolve follows links, also to a file that does not exist yet: processes that name one file differently must agree on
// its lock files.
func resolve(path string) (string, error) {
	const most = 40 // the kernel's limit
	for range most {
		dir, err := filepath.Abs(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link, or no file
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return "", errors.New("too many links")
}

// connect makes the first connection. It changes nothing in an existing file, which may belong to another application.
func (s *backend) connect(ctx context.Context) error {
	if err := checkConnection(ctx, s.pools.writeDB, s.options); err != nil {
		return err
	}
	var err error
	if s.build, err = build(ctx, s.pools.writeDB); err != nil {
		return err
	}
	if s.files, err = findMain(s.path, s.options); err != nil {
		return err
	}
	s.writer = newWriter(s.files, func() (*gate, error) { return gateOf(s.side, s.path) }, s.options.logger)
	if o := s.options.observer; o != nil {
		s.writer.committed = o.Committed
	}
	s.pools.files, s.pools.writer = s.files, s.writer
	s.hub = newHub(s.pools, s.options)
	s.writer.changed = s.hub.changed
	return nil
}

// gateOf opens the lock file that writers of all processes take in turn.
func gateOf(side sideFolder, path string) (*gate, error) {
	file, err := side.open(gateFile)
	if err != nil {
		return nil, err
	}
	return newGate(file, func() time.Time { return lastWrite(path) }), nil
}

// lastWrite returns the time of the last write to a database by any process: to its WAL, or by a checkpoint.
func lastWrite(path string) time.Time {
	var last time.Time
	for _, file := range []string{path + "-wal", path} {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// walSize returns the size of the WAL in bytes, 0 without one. It stays below 64 MiB except after large transactions, and while
// a read transaction of some program does not end.
func (s *backend) walSize() (int64, error) {
	_, size, err := identify(s.path + "-wal")
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	return size, err
}
