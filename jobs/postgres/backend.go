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

// sealed gives package jobs access to the engine.
type sealed = engine.SealedStore

// backend is the PostgreSQL engine: it implements [engine.Store].
type backend struct {
	sealed
	faults
	conns   *connections
	writer  *writer
	hub     *hub
	cursors *cursors
	inserts *groupcommit.Committer[*insert]

	schema *migrator
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

// Write runs fn in a transaction. The end of ctx ends fn, also while it waits for a locked row, and a moment later the commit, whose
// outcome is then unknown. If the connection breaks during the commit, the store asks the server for the outcome and returns it. Write
// returns [jobs.ErrUnknownOutcome] only in the first case, and if the server cannot tell.
func (s *backend) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.writer.write(ctx, 1, s.writer.transact, func(ctx context.Context, _ *transaction, q db.Querier) error { return fn(ctx, q) })
}

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

// lookBelow looks, after a delay and beside the claims, for claimable jobs below the cursors, and wakes the queue's
// workers if there are any.
func (s *backend) lookBelow(key cursorKey, wait time.Duration) {
	s.hub.run(func() {
		if !s.hub.rest(wait) {
			return
		}
		var kinds int64
		began := time.Now()
		err := s.Read(s.hub.ctx, func(ctx context.Context, q db.Querier) (err error) {
			scope, err := s.cursors.scopeBelow(key)
			if err != nil {
				return err
			}
			began = time.Now()
			kinds, err = q.HasClaimableJobs(ctx, db.HasClaimableJobsParams{Kinds: "[]", Cursors: scope, Queue: key.queue})
			return err
		})
		took := time.Since(began)
		if err != nil {
			if s.hub.ctx.Err() == nil {
				s.conns.options.logger.Debug("cannot look for jobs below where claims begin; trying again", "queue", key.queue, "error", err)
			}
			took = slowLook // the duration is unknown
			s.cursors.failedBelow(key)
		}
		if s.cursors.lookedBelow(key, took, kinds > 0) {
			s.hub.wake(core.WorkReady, key.queue, jobs.WakeSafety)
		}
	})
}

// Insert implements [engine.Store]. Concurrent callers with single jobs share transactions.
func (s *backend) Insert(ctx context.Context, in engine.Insert) ([]int64, error) {
	i := &insert{Insert: in}
	var err error
	switch {
	case in.Claim != nil:
		return inserter{s.writer, s.cursors}.insertClaimed(ctx, i)
	case in.Payloads != nil:
		err = inserter{s.writer, s.cursors}.writeInsert(ctx, i)
	default:
		err = s.conns.explain(ctx, s.inserts.Do(ctx, i))
	}
	if err != nil {
		return nil, err
	}
	s.Announce(core.WorkAdded)
	return i.ids, nil
}

// InsertWith implements [engine.Store].
func (s *backend) InsertWith(ctx context.Context, queue string, fn engine.InsertFunc) error {
	inserted := false
	err := s.writer.write(ctx, 1, s.writer.transact, func(ctx context.Context, t *transaction, q db.Querier) (err error) {
		if inserted, err = fn(ctx, q); inserted && err == nil {
			t.announce(queue)
		}
		return err
	})
	if err == nil && inserted {
		s.Announce(core.WorkAdded)
	}
	return err
}

// Observer implements [engine.Store].
func (s *backend) Observer() *jobs.Observer { return s.conns.options.observer }

// Now returns the server's time as estimated. The first call asks the server if there is no measurement yet, because
// the first job of a program needs the right time too. Without a server it returns the local time. Later calls use the
// known difference, and start a new measurement when it is old, or at once when the local clock was set.
func (s *backend) Now() time.Time { return s.NowWithin(context.Background()) }

// NowWithin returns what Now returns, and stops asking the server when ctx ends.
func (s *backend) NowWithin(ctx context.Context) time.Time {
	now, stepped := s.conns.clock.now()
	switch {
	case stepped, !s.conns.clock.known():
		sessions{s.conns}.askClock(ctx)
		now, _ = s.conns.clock.now()
	case s.conns.clock.old():
		s.hub.run(func() { sessions{s.conns}.askClock(s.hub.ctx) })
	}
	return now
}

// Listen implements [engine.Store].
func (s *backend) Listen(signals core.Signal, queues []string) (<-chan struct{}, func()) {
	return s.hub.listen(signals, queues)
}

// AnnouncesEnds implements [engine.Store]: see hub.
func (s *backend) AnnouncesEnds() bool { return false }

// Announce implements [engine.Store].
func (s *backend) Announce(signals core.Signal) { s.hub.announce(signals) }

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

// Claims implements [engine.Store].
func (s *backend) Claims() engine.Claims { return claims{s.cursors} }

// Transactions implements [engine.Store].
func (s *backend) Transactions() engine.Transactions { return transactions{s.conns, s.hub, s.ready} }

// WorkerLocks implements [engine.Store].
func (s *backend) WorkerLocks() engine.WorkerLocks { return s.locks }

// Migrations implements [engine.Store].
func (s *backend) Migrations() engine.Migrations { return s.schema }

// Upkeep implements [engine.Store].
func (s *backend) Upkeep() engine.Upkeep { return upkeep{s.conns, s.writer, s.Now} }
