package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/groupcommit"
	"github.com/sqluice/sqluice/jobs"
)

// backend is the engine: it fills the port [engine.Store].
type backend struct {
	sealed
	pool       *pgxpool.Pool
	ownPool    bool
	session    *pgx.ConnConfig   // of the connections that listen and hold locks
	mode       pgx.QueryExecMode // of the pool's connections
	options    options
	names      *namespace
	hub        *hub
	clock      clock
	floors     *floors
	inserts    *groupcommit.Committer[*insert]
	inspecting chan struct{} // has a value for each inspection under way
	pooled     atomic.Bool   // there is a pooler, and no way round it: no notifications, no locks
	unprepared atomic.Bool   // there is a pooler: no prepared statements

	missed     atomic.Pointer[time.Time] // when this process was last found without its worker's lock
	connecting atomic.Int64              // how long the last connection outside the pool took to be made and set up

	mu     sync.Mutex
	looked bool // for a pooler
	usable bool // the schema was found right
	closed bool
}

var _ engine.Store = (*backend)(nil)

// Read runs fn on the pool: each statement sees what is committed when it starts. A statement whose connection breaks
// is the end of that run, and fn may be run again.
func (s *backend) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.rerun(ctx, func() error { return s.readOnce(ctx, true, fn) })
}

// Inspect is Read with a bound on how many run at once: [inspections] of the pool's connections.
func (s *backend) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	select {
	case s.inspecting <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.inspecting }()
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.rerun(ctx, func() error { return s.readOnce(ctx, false, fn) })
}

// inspections returns how many of a pool's connections inspections may hold at once: half of them, so that the rest is for
// runners and enqueues. A pool of one connection has none to spare.
func inspections(connections int32) int32 { return min(max(1, connections/2), 4) }

// rerun runs a read again whose connection turns out to be lost, as many of the pool may be after a restart.
func (s *backend) rerun(ctx context.Context, read func() error) error {
	for run := 1; ; run++ {
		err := read()
		if err == nil || !broken(err) || run == reruns || ctx.Err() != nil {
			return translate(err)
		}
		s.distrust(run, err)
	}
}

// distrust renews the connections when one of them did not answer, or a second one was lost in a row: all of them may be, and there
// may be more of them than tries.
func (s *backend) distrust(run int, err error) {
	if run == 2 || errors.Is(err, errSilent) {
		s.renew()
	}
}

// renew has the store's own pool make its connections anew; that of an application is left alone.
func (s *backend) renew() {
	if s.ownPool {
		s.pool.Reset()
	}
}

func (s *backend) readOnce(ctx context.Context, prepare bool, fn func(context.Context, db.Querier) error) (err error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	w := newWatch(ctx, s.options.silence)
	defer func() { err = w.end(err) }()
	return fn(w.ctx, s.reader(watched{conn.Conn(), w}, prepare))
}

// acquire takes a connection of the pool. All may be in use; or one may have to be made first, or be asked whether it is
// still there, and the server may not answer.
func (s *backend) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.silence, errSilent)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err == nil {
		if err := checkConnEncoding(conn.Conn()); err != nil {
			conn.Release()
			return nil, err
		}
		return conn, nil
	}
	if ctx.Err() == nil {
		return nil, err
	}
	silent := errors.Is(context.Cause(ctx), errSilent)
	stat := s.pool.Stat()
	switch used := stat.AcquiredConns() == stat.MaxConns(); {
	case used && silent:
		return nil, &poolError{size: stat.MaxConns(), waited: s.options.silence}
	case used:
		return nil, fmt.Errorf("%w: all %d connections of the pool are in use", err, stat.MaxConns())
	case silent:
		return nil, errors.Join(errSilent, err)
	}
	return nil, err
}

// ready looks at the connection and the schema at first use.
func (s *backend) ready(ctx context.Context) error {
	s.mu.Lock()
	closed, usable := s.closed, s.usable
	s.mu.Unlock()
	if closed {
		return jobs.ErrClosed
	}
	if usable {
		return nil
	}
	have, want, err := s.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	if have != want {
		return &jobs.SchemaError{Have: have, Want: want}
	}
	s.setUsable(true)
	return nil
}

func (s *backend) isUsable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usable
}

// setUsable notes whether the schema is known to be right.
func (s *backend) setUsable(usable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usable = usable
}

// Backoff implements [engine.Store]: workers do not wait for one lock.
func (s *backend) Backoff(func() int64) engine.Backoff { return engine.NoBackoff{} }

// Observer implements [engine.Store].
func (s *backend) Observer() *jobs.Observer { return s.options.observer }

// Listen implements [engine.Store].
func (s *backend) Listen(signals core.Signal, queues []string) (<-chan struct{}, func()) {
	return s.hub.listen(signals, queues)
}

// AnnouncesEnds implements [engine.Store]: see hub.
func (s *backend) AnnouncesEnds() bool { return false }

// Announce implements [engine.Store].
func (s *backend) Announce(signals core.Signal) { s.hub.announce(signals) }

// EngineVersion names PostgreSQL and the server's version.
func (s *backend) EngineVersion(ctx context.Context) (string, error) {
	var version string
	if err := s.query(ctx, &version, "server_version"); err != nil {
		return "", err
	}
	return "PostgreSQL " + version, nil
}

// queryRow reads the values of one row of a statement of sql/control, which is prepared unless the arguments are those of [once].
func (s *backend) queryRow(ctx context.Context, name string, args []any, values ...any) error {
	if err := s.look(ctx); err != nil {
		return err
	}
	return s.rerun(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		w := newWatch(ctx, s.options.silence)
		return w.end(conn.QueryRow(w.ctx, s.names.qualify(control(name)), args...).Scan(values...))
	})
}

func (s *backend) query(ctx context.Context, value any, name string, args ...any) error {
	return s.queryRow(ctx, name, once(args...), value)
}

// Backup is not for PostgreSQL, which has tools of its own.
func (s *backend) Backup(context.Context, string) error {
	return fmt.Errorf("%w: use pg_dump, or `sqluice copy --keep-open` to write the queue to a SQLite file", errors.ErrUnsupported)
}

// Close stops listening and closes the pool, if it is the store's own. Writes under way are waited for.
func (s *backend) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.hub.close()
	if s.ownPool {
		s.pool.Close()
	}
	callback.Flush(s.options.observer, s.options.logger, "Close")
	return nil
}
