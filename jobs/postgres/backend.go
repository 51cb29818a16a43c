package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/groupcommit"
	"github.com/sqluice/sqluice/jobs"
)

// backend is the PostgreSQL engine: it implements [engine.Store].
type backend struct {
	sealed
	faults
	conns   *connections
	writer  *writer
	hub     *hub
	cursors *cursors
	inserts *groupcommit.Committer[*insert]

	schema *schema
	locks  *workerLocks

	inspecting chan struct{} // holds one value for each running inspection

	mu     sync.Mutex
	closed bool
}

var _ engine.Store = (*backend)(nil)

// Read runs fn on a connection of the pool: each statement sees what is committed when it starts. After the loss of the
// connection, Read may run fn again.
func (s *backend) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	if err := s.ready(ctx); err != nil {
		return core.EndFirst(ctx, err)
	}
	return s.conns.rerun(ctx, func() error { return s.conns.readOnce(ctx, true, fn) })
}

// Inspect runs fn as Read does, on at most [inspections] of the pool's connections at once.
func (s *backend) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	select {
	case s.inspecting <- struct{}{}:
	case <-ctx.Done():
		return core.EndOf(ctx)
	}
	defer func() { <-s.inspecting }()
	if err := s.ready(ctx); err != nil {
		return core.EndFirst(ctx, err)
	}
	return s.conns.rerun(ctx, func() error { return s.conns.readOnce(ctx, false, fn) })
}

// inspections returns the number of pool connections that inspections may use at once: half of them, so that runners and
// enqueues keep the rest. A pool of one connection lends that one.
func inspections(connections int32) int32 { return min(max(1, connections/2), 4) }

// ready checks the connection and the schema at first use.
func (s *backend) ready(ctx context.Context) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return jobs.ErrClosed
	}
	if s.schema.usable.Load() {
		return nil
	}
	found, err := s.schema.Schema(ctx)
	if err != nil {
		return err
	}
	if err := found.Check(); err != nil {
		return err
	}
	s.schema.usable.Store(true)
	return nil
}

// Observer implements [engine.Store].
func (s *backend) Observer() *jobs.Observer { return s.conns.options.observer }

// Listen implements [engine.Store].
func (s *backend) Listen(signals core.Signal, queues []string) (<-chan struct{}, func()) {
	return s.hub.listen(signals, queues)
}

// AnnouncesEnds implements [engine.Store]: see hub.
func (s *backend) AnnouncesEnds() bool { return false }

// Announce implements [engine.Store].
func (s *backend) Announce(signals core.Signal) { s.hub.announce(signals) }

// EngineVersion names PostgreSQL and the server's version.
func (s upkeep) EngineVersion(ctx context.Context) (string, error) {
	var version string
	if err := s.conns.query(ctx, &version, "server_version"); err != nil {
		return "", err
	}
	return "PostgreSQL " + version, nil
}

// Close stops listening and closes the pool if the store owns it. It waits for running writes, and after them at most half a second for a
// server that does not answer.
func (s *backend) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.conns.closing.Store(true)
	s.mu.Unlock()
	s.hub.close()
	if s.conns.ownPool {
		s.conns.closePool()
	}
	callback.Flush(s.conns.options.observer, s.conns.options.logger, "Close")
	return nil
}

// recountWithin is the time after which the connection of a recount's statement counts as lost.
const recountWithin = 2 * time.Hour

// Recount implements [engine.Store]. Its one statement reads its own snapshot and adds the missing counts as notes: it locks
// nothing that other transactions write. It may run longer than other statements.
func (s upkeep) Recount(ctx context.Context) (wrong int64, err error) {
	err = s.writer.write(ctx, 1, s.writer.transact, func(ctx context.Context, t *transaction, q db.Querier) (err error) {
		if err := t.unlimited(); err != nil {
			return err
		}
		wrong, err = s.RecountIn(ctx, q)
		return err
	})
	return wrong, err
}

// unlimited removes the timeouts of the transaction's statements, and begins the transaction if it has not begun.
func (t *transaction) unlimited() error {
	err := t.begin()
	if err == nil {
		err = t.exec("no_timeouts")
	}
	t.watch.silence = recountWithin
	return err
}

// RecountIn implements [engine.Store].
func (s upkeep) RecountIn(ctx context.Context, q db.Querier) (int64, error) {
	if err := q.LockCounts(ctx); err != nil {
		return 0, err
	}
	return q.RecountJobs(ctx, core.Micros(s.now()))
}

// Claims implements [engine.Store].
func (s *backend) Claims() engine.Claims { return claims{s.cursors} }

// Transactions implements [engine.Store].
func (s *backend) Transactions() engine.Transactions { return transactions{s} }

// WorkerLocks implements [engine.Store].
func (s *backend) WorkerLocks() engine.WorkerLocks { return s.locks }

// Migrations implements [engine.Store].
func (s *backend) Migrations() engine.Migrations { return s.schema }

// Upkeep implements [engine.Store].
func (s *backend) Upkeep() engine.Upkeep { return upkeep{s.conns, s.writer, s.Now} }
