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
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// readers is how many connections read at once for runners.
const readers = 4

// inspectionConnections returns how many connections Inspect uses at once. SQLite computes in this process: one processor is
// left for the runners.
func inspectionConnections() int { return min(max(1, runtime.GOMAXPROCS(0)-1), 4) }

// backend is the engine: it fills the port [engine.Store].
type backend struct {
	sealed
	traits
	workerLocks
	claims
	*schema
	upkeep
	path    string
	build   string // of the SQLite that the connections run in
	side    sideFolder
	files   *files
	writeDB *sql.DB
	readDB  *sql.DB
	hub     *hub
	options options

	inspectDB *sql.DB // for Inspect

	preparing chan struct{} // has a value while a caller prepares the statements

	mu     sync.RWMutex // guards what follows
	closed bool
	reads  *reads // nil until the schema was found right

	inspections *reads // nil when reads is
}

// upkeep is what reads a whole database while others use it.
type upkeep struct {
	backups
	recounts
}

var _ engine.Store = (*backend)(nil)

// Observer implements [engine.Store].
func (s *backend) Observer() *jobs.Observer { return s.options.observer }

// Now is the system's clock, or that of [WithClock], cut to what the database keeps.
func (s *backend) Now() time.Time { return s.options.now().Truncate(time.Microsecond) }

// NowWithin is Now: nothing has to be asked.
func (s *backend) NowWithin(context.Context) time.Time { return s.Now() }

// Read runs fn on connections that cannot write.
func (s *backend) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.readOn(ctx, func() *reads { return s.reads }, fn)
}

// ReadByWriter runs fn on the connection that writes, while that is idle, as [engine.ReadByWriter] says. It does not look whether the
// files are still there, and SQLite does not refuse writes of fn, as it does in Read.
func (s *backend) ReadByWriter(ctx context.Context, fn engine.Func) (done bool, err error) {
	if err := s.ready(ctx); err != nil {
		return true, err
	}
	done, err = s.writer.idle(func(w *writes) error { return fn(context.WithValue(ctx, readsByWriter{}, s), w) })
	return done, core.EndFirst(ctx, s.suspect.name(translate(err)))
}

// readsByWriter is the context key of the backend that runs a function by ReadByWriter.
type readsByWriter struct{}

// errInRead keeps a function that reads from waiting for its own end.
var errInRead = errors.New("a function that reads by the writer's connection uses the store")

// Inspect is Read on connections of its own. Each statement takes one; a statement that finds none free waits.
func (s *backend) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.readOn(ctx, func() *reads { return s.inspections }, fn)
}

// readOn runs fn on the statements that choose returns while mu is held.
func (s *backend) readOn(ctx context.Context, choose func() *reads, fn func(context.Context, db.Querier) error) error {
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
			return core.EndFirst(ctx, s.suspect.name(translate(fn(ctx, reads))))
		}
	}
}

// Write runs fn in a transaction, together with what other callers of this process have waiting.
func (s *backend) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.write(ctx, &write{fn: fn})
}

func (s *backend) write(ctx context.Context, w *write) error {
	for {
		if err := s.ready(ctx); err != nil {
			return err
		}
		if err := s.writer.groups.Do(ctx, w); !errors.Is(err, errNotPrepared) || errors.Is(err, jobs.ErrUnknownOutcome) {
			return core.EndFirst(ctx, s.suspect.name(err))
		}
	}
}

// ready looks at the schema at first use: statements are prepared only on one that they were made for.
func (s *backend) ready(ctx context.Context) error {
	if ctx.Value(readsByWriter{}) == s {
		return errInRead
	}
	s.mu.RLock()
	closed, ready := s.closed, s.reads != nil
	s.mu.RUnlock()
	if closed {
		return jobs.ErrClosed
	}
	if ready {
		return nil
	}
	select { // not mu, for which the end of ctx does not count
	case s.preparing <- struct{}{}:
		defer func() { <-s.preparing }()
	case <-ctx.Done():
		return core.EndOf(ctx)
	}
	return core.EndFirst(ctx, s.prepare(ctx))
}

// prepare prepares the statements, unless another caller has. The caller holds preparing.
func (s *backend) prepare(ctx context.Context) error {
	s.mu.RLock()
	closed, ready := s.closed, s.reads != nil
	s.mu.RUnlock()
	if closed {
		return jobs.ErrClosed
	}
	if ready {
		return nil
	}
	found, err := schemaOf(ctx, s.writeDB) // a program that only writes needs no other connection
	if err != nil {
		return err
	}
	if err := found.Check(); err != nil {
		return err
	}
	if err := turnWALOn(ctx, s.writeDB, s.side); err != nil {
		return err
	}
	if err := s.files.findBeside(); err != nil {
		return err
	}
	writes, err := prepareWrites(ctx, s.writeDB)
	if err != nil {
		return fmt.Errorf("prepare statements: %w", s.suspect.name(translate(err)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.Join(jobs.ErrClosed, writes.Close())
	}
	s.writer.use(writes)
	s.reads, s.inspections = newReads(s.readDB), newReads(s.inspectDB)
	return nil
}

// forget drops the prepared statements, so that the next use looks at the schema anew.
func (s *backend) forget() error {
	s.mu.Lock()
	reads, inspections := s.reads, s.inspections
	if reads == nil {
		s.mu.Unlock()
		return nil
	}
	s.reads, s.inspections = nil, nil
	s.mu.Unlock()
	// Not under mu: a long read or write under way must delay no other use of the store.
	return errors.Join(s.writer.use(nil).Close(), reads.close(), inspections.close())
}

// Listen implements [engine.Store].
func (s *backend) Listen(signals core.Signal, _ []string) (<-chan struct{}, func()) {
	return s.hub.listen(signals)
}

// Announce implements [engine.Store].
func (s *backend) Announce(signals core.Signal) {
	if signals&core.WorkAdded != 0 {
		signals |= core.WorkReady
	}
	s.hub.announce(signals)
}

// Settle has nothing to wait for but the write lock: SQLite has one writer at a time.
func (s *backend) Settle(ctx context.Context) error {
	return s.Write(ctx, func(context.Context, db.Querier) error { return nil })
}

// Close waits for the write under way, stops the watcher and closes the connections.
func (s *backend) Close() error {
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
