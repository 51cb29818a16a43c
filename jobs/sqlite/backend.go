package sqlite

import (
	"context"
	"runtime"
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
	faults
	path    string
	build   string // of the SQLite that the connections run in
	side    sideFolder
	files   *files
	pools   *pools
	writer  *writer
	hub     *hub
	options options

	locks  workerLocks
	schema *schema
	upkeep upkeep
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
	return s.pools.read(ctx, func() *reads { return s.pools.reads }, fn)
}

// ReadByWriter runs fn on the connection that writes, while that is idle, as [engine.ReadByWriter] says. It does not look whether the
// files are still there, and SQLite does not refuse writes of fn, as it does in Read.
func (s *backend) ReadByWriter(ctx context.Context, fn engine.Func) (done bool, err error) {
	return s.pools.readByWriter(ctx, fn)
}

// Inspect is Read on connections of its own. Each statement takes one; a statement that finds none free waits.
func (s *backend) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.pools.read(ctx, func() *reads { return s.pools.inspections }, fn)
}

// Write runs fn in a transaction, together with what other callers of this process have waiting.
func (s *backend) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.pools.write(ctx, &write{fn: fn})
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
func (s *backend) Transactions() engine.Transactions { return transactions{s} }

// WorkerLocks implements [engine.Store].
func (s *backend) WorkerLocks() engine.WorkerLocks { return s.locks }

// Migrations implements [engine.Store].
func (s *backend) Migrations() engine.Migrations { return s.schema }

// Upkeep implements [engine.Store].
func (s *backend) Upkeep() engine.Upkeep { return s.upkeep }

// Close waits for the write under way, stops the watcher and closes the connections.
func (s *backend) Close() error {
	if !s.pools.beginClose() {
		return nil
	}
	s.hub.close()
	s.writer.close()
	callback.Flush(s.options.observer, s.options.logger, "Close")
	return s.pools.close()
}
