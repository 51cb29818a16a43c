// Package sqlite is the queue's engine on SQLite (modernc.org/sqlite, pure Go, WAL): any number of processes share
// one database file.
//
// A process writes through one connection, and what waits for it is committed together. Beside the database jobs.db
// stands a folder jobs.db-sqluice with small lock files; it may be deleted when no process uses the database.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/contention"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// readers is how many connections read at once for runners.
const readers = 4

// inspectionConnections returns how many connections Inspect uses at once. SQLite computes in this process: one processor is
// left for the runners.
func inspectionConnections() int { return min(max(1, runtime.GOMAXPROCS(0)-1), 4) }

// Store is a queue in a SQLite database file. Make one with [Open] or [New].
type Store struct {
	path    string
	side    sideFolder
	files   *files
	writeDB *sql.DB
	readDB  *sql.DB
	writer  *writer
	hub     *hub
	options options

	inspectDB *sql.DB // for Inspect
	shared    jobs.Shared

	mu     sync.RWMutex // guards what follows
	closed bool
	reads  *reads // nil until the schema was found right

	inspections *reads // nil when reads is
}

var _ jobs.Store = (*Store)(nil)

// Path is the database's file.
func (s *Store) Path() string { return s.path }

// Backoff implements [jobs.Store].
func (s *Store) Backoff(workers func() int64) engine.Backoff { return contention.New(workers) }

// Observer implements [jobs.Store].
func (s *Store) Observer() *jobs.Observer { return s.options.observer }

// Now is the system's clock, or that of [WithClock], cut to what the database keeps.
func (s *Store) Now() time.Time { return s.options.now().Truncate(time.Microsecond) }

// Read runs fn on connections that cannot write.
func (s *Store) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.readOn(ctx, func() *reads { return s.reads }, fn)
}

// Inspect is Read on connections of its own. Each statement takes one; a statement that finds none free waits.
func (s *Store) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.readOn(ctx, func() *reads { return s.inspections }, fn)
}

// Shared implements [jobs.Store].
func (s *Store) Shared() *jobs.Shared { return &s.shared }

// readOn runs fn on the statements that choose returns while mu is held.
func (s *Store) readOn(ctx context.Context, choose func() *reads, fn func(context.Context, db.Querier) error) error {
	for {
		if err := s.ready(ctx); err != nil {
			return err
		}
		if err := s.files.intact(); err != nil {
			return err
		}
		s.mu.RLock()
		reads := choose()
		if reads != nil {
			reads.users.Add(1)
		}
		s.mu.RUnlock()
		if reads != nil { // else a migration dropped the statements since the look at the schema
			defer reads.users.Done()
			return translate(fn(ctx, reads))
		}
	}
}

// Write runs fn in a transaction, together with what other callers of this process have waiting.
func (s *Store) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.write(ctx, &write{fn: fn})
}

func (s *Store) write(ctx context.Context, w *write) error {
	for {
		if err := s.ready(ctx); err != nil {
			return err
		}
		if err := s.writer.groups.Do(ctx, w); !errors.Is(err, errNotPrepared) {
			return err
		}
	}
}

// ready looks at the schema at first use: statements are prepared only on one that they were made for.
func (s *Store) ready(ctx context.Context) error {
	s.mu.RLock()
	closed, ready := s.closed, s.reads != nil
	s.mu.RUnlock()
	if closed {
		return jobs.ErrClosed
	}
	if ready {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return jobs.ErrClosed
	}
	if s.reads != nil {
		return nil
	}
	have, want, err := s.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	if have != want {
		return &jobs.SchemaError{Have: have, Want: want}
	}
	if err := s.convert(ctx); err != nil {
		return err
	}
	if err := s.files.findBeside(); err != nil {
		return err
	}
	writes, err := prepareWrites(ctx, s.writeDB)
	if err != nil {
		return fmt.Errorf("prepare statements: %w", translate(err))
	}
	s.writer.use(writes)
	s.reads, s.inspections = newReads(s.readDB), newReads(s.inspectDB)
	return nil
}

// convert turns WAL on in a database whose schema was made by another tool, such as the goose command or a backup.
func (s *Store) convert(ctx context.Context) error {
	// A connection knows the mode of its last transaction, and another may have changed it since.
	if err := s.look(ctx); err != nil {
		return err
	}
	mode, err := readPragma(ctx, s.writeDB, "journal_mode")
	if err != nil || mode == "wal" {
		return err
	}
	unlock, err := s.lockFile(ctx, migrateFile)
	if err != nil {
		return err
	}
	defer unlock()
	if err := useWAL(ctx, s.writeDB); err != nil {
		return err
	}
	return s.look(ctx) // the WAL is there from the next transaction on
}

// look is a transaction of the writing connection that does nothing.
func (s *Store) look(ctx context.Context) error {
	return translate(s.writeDB.QueryRowContext(ctx, control("schema_version")).Scan(new(int64)))
}

// forget drops the prepared statements, so that the next use looks at the schema anew.
func (s *Store) forget() error {
	s.mu.Lock()
	reads, inspections := s.reads, s.inspections
	if reads == nil {
		s.mu.Unlock()
		return nil
	}
	s.reads, s.inspections = nil, nil
	err := s.writer.use(nil).Close()
	s.mu.Unlock()
	// Not under mu: a long read under way must delay no other use of the store.
	return errors.Join(err, reads.close(), inspections.close())
}

// Listen implements [jobs.Store].
func (s *Store) Listen(signals jobs.Signal, _ []string) (<-chan struct{}, func()) {
	return s.hub.listen(signals)
}

// AnnouncesEnds implements [jobs.Store]: every commit in the file wakes the listeners of all processes.
func (s *Store) AnnouncesEnds() bool { return true }

// Announce implements [jobs.Store].
func (s *Store) Announce(signals jobs.Signal) {
	if signals&jobs.WorkAdded != 0 {
		signals |= jobs.WorkReady
	}
	s.hub.announce(signals)
}

// EngineVersion names SQLite and its version.
func (s *Store) EngineVersion(context.Context) (string, error) {
	return "SQLite " + LibraryVersion, nil
}

// Close waits for the write under way, stops the watcher and closes the connections.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.hub.close()
	s.writer.close()
	callback.Flush(s.options.observer, s.options.logger, "Close")
	return errors.Join(s.forget(), s.inspectDB.Close(), s.readDB.Close(), s.writeDB.Close())
}
