package sqlite

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// sealed gives package jobs access to the engine.
type sealed = engine.SealedStore

// backend is the SQLite engine: it implements [engine.Store].
type backend struct {
	sealed
	faults
	path    string
	build   string // build of SQLite that the connections run in
	side    sideFolder
	files   *files
	pools   *pools
	writer  *writer
	hub     *hub
	options options

	locks  workerLocks
	schema *migrator
	upkeep upkeep
}

var _ engine.Store = (*backend)(nil)

// Observer implements [engine.Store].
func (s *backend) Observer() *jobs.Observer { return s.options.observer }

// Now returns the time of the system's clock, or that of [WithClock], truncated to the database's resolution.
func (s *backend) Now() time.Time { return s.options.now().Truncate(time.Microsecond) }

// NowWithin returns Now: there is no server to ask.
func (s *backend) NowWithin(context.Context) time.Time { return s.Now() }

// Read runs fn on connections that cannot write.
func (s *backend) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.pools.read(ctx, func() *reads { return s.pools.reads }, fn)
}

// ReadByWriter runs fn on the writer's connection while that is idle, as [engine.ReadByWriter] says. It does not check that the files
// still exist, and SQLite does not refuse writes of fn, as it does in Read.
func (s *backend) ReadByWriter(ctx context.Context, fn engine.Func) (done bool, err error) {
	return s.pools.readByWriter(ctx, fn)
}

// Inspect runs fn as Read does, on separate connections. Each statement takes one; a statement waits if none is free.
func (s *backend) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.pools.read(ctx, func() *reads { return s.pools.inspections }, fn)
}

// Write runs fn in a transaction, together with the waiting writes of other callers of this process.
func (s *backend) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.pools.write(ctx, &write{fn: fn})
}

// Insert implements [engine.Store].
func (s *backend) Insert(ctx context.Context, in engine.Insert) ([]int64, error) {
	w := &write{insert: in}
	if err := s.pools.write(ctx, w); err != nil {
		return nil, err
	}
	if in.Claim == nil {
		s.Announce(core.WorkAdded)
	}
	return w.ids, nil
}

// InsertWith implements [engine.Store].
func (s *backend) InsertWith(ctx context.Context, _ string, fn engine.InsertFunc) error {
	inserted := false
	err := s.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		inserted, err = fn(ctx, q)
		return err
	})
	if err == nil && inserted {
		s.Announce(core.WorkAdded)
	}
	return err
}

// Listen implements [engine.Store].
func (s *backend) Listen(signals core.Signal, _ []string) (<-chan struct{}, func()) {
	return s.hub.listen(signals)
}

// AnnouncesEnds implements [engine.Store]: every commit in the file wakes the listeners of all processes.
func (s *backend) AnnouncesEnds() bool { return true }

// Announce implements [engine.Store].
func (s *backend) Announce(signals core.Signal) {
	if signals&core.WorkAdded != 0 {
		signals |= core.WorkReady
	}
	s.hub.announce(signals)
}

// Claims implements [engine.Store].
func (s *backend) Claims() engine.Claims { return claims{s.writer} }

// Transactions implements [engine.Store].
func (s *backend) Transactions() engine.Transactions {
	return transactions{s.pools, s.options, s.build}
}

// WorkerLocks implements [engine.Store].
func (s *backend) WorkerLocks() engine.WorkerLocks { return s.locks }

// Migrations implements [engine.Store].
func (s *backend) Migrations() engine.Migrations { return s.schema }

// Upkeep implements [engine.Store].
func (s *backend) Upkeep() engine.Upkeep { return s.upkeep }

// Close waits for the running write, stops the watch and closes the connections.
func (s *backend) Close() error {
	if !s.pools.beginClose() {
		return nil
	}
	s.hub.close()
	s.writer.close()
	callback.Flush(s.options.observer, s.options.logger, "Close")
	return s.pools.close()
}
