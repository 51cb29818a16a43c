package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/db"
)

// connections are the ways to the server: the pool, and connections of their own that listen and hold locks.
type connections struct {
	pool       *pgxpool.Pool
	ownPool    bool
	session    *pgx.ConnConfig   // of the connections that listen and hold locks
	mode       pgx.QueryExecMode // of the pool's connections
	options    options
	names      *namespace
	clock      clock
	self       atomic.Pointer[identity] // of the database, as it was last seen
	pooled     atomic.Bool              // there is a pooler, and no way round it: no notifications, no locks
	unprepared atomic.Bool              // there is a pooler: no prepared statements
	connecting atomic.Int64             // how long the last connection outside the pool took to be made and set up

	looking sync.Mutex // guards looked
	looked  bool       // for a pooler
}

// rerun runs a read again whose connection turns out to be lost, as many of the pool may be after a restart.
func (s *connections) rerun(ctx context.Context, read func() error) error {
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
func (s *connections) distrust(run int, err error) {
	if run == 2 || errors.Is(err, errSilent) {
		s.renew()
	}
}

// renew has the store's own pool make its connections anew; that of an application is left alone.
func (s *connections) renew() {
	if s.ownPool {
		s.pool.Reset()
	}
}

func (s *connections) readOnce(ctx context.Context, prepare bool, fn func(context.Context, db.Querier) error) (err error) {
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
func (s *connections) acquire(ctx context.Context) (*pgxpool.Conn, error) {
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

// queryRow reads the values of one row of a statement of sql/control, which is prepared unless the arguments are those of [once].
func (s *connections) queryRow(ctx context.Context, name string, args []any, values ...any) error {
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

func (s *connections) query(ctx context.Context, value any, name string, args ...any) error {
	return s.queryRow(ctx, name, once(args...), value)
}

// look finds out, at the first connection, whether the database can hold a queue, and whether there is a pooler before the
// server. A pooler gives its clients another number for their connection than the server's process id.
func (s *connections) look(ctx context.Context) error {
	s.looking.Lock()
	looked := s.looked
	s.looking.Unlock()
	if looked {
		return nil
	}
	var pid, said uint32
	var encoding string
	err := s.rerun(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		said = conn.Conn().PgConn().PID()
		w := newWatch(ctx, s.options.silence)
		return w.end(conn.QueryRow(w.ctx, control("backend"), pgx.QueryExecModeExec).Scan(&pid, &encoding))
	})
	if err == nil {
		err = checkServerEncoding(encoding)
	}
	if err != nil {
		return err
	}
	s.looking.Lock()
	defer s.looking.Unlock()
	if s.looked {
		return nil
	}
	s.looked = true
	if pid == said && !s.options.pooled {
		return nil
	}
	s.unprepared.Store(true)
	if s.options.session == "" && !s.pooled.Swap(true) {
		s.options.logger.Warn("there is a pooler before the PostgreSQL server: polling for jobs, and telling by leases alone that a worker is gone; connect to the server itself, name it beside the pooler with WithSession, or say pgbouncer=true in the URL")
	}
	return nil
}
