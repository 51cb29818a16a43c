package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/db"
	dbpostgres "github.com/sqluice/sqluice/db/postgres"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// connections holds the pool, and makes the separate connections that listen and hold locks.
type connections struct {
	pool        *pgxpool.Pool
	ownPool     bool
	session     *pgx.ConnConfig   // configures the connections that listen and hold locks
	mode        pgx.QueryExecMode // the mode of the pool's connections
	options     options
	names       *namespace
	clock       clock
	self        atomic.Pointer[identity] // the identity of the database at the last read
	pooled      atomic.Bool              // a pooler without a way round it: no notifications, no locks
	unprepared  atomic.Bool              // a pooler: no prepared statements
	sessions    *atomic.Bool             // true: a pooler whose clients each keep their own connection to the server
	closing     atomic.Bool              // Close has begun
	connecting  atomic.Int64             // time to make and set up the last connection outside the pool
	lent        lentConns                // connections of the pool in use
	synchronous atomic.Bool              // the server had synchronous standbys when a transaction last began
	hung        hanging                  // commits that the server has not confirmed for long
	watches     *watches

	looking sync.Mutex // guards looked
	looked  bool       // whether a check for a pooler was made
}

// explain adds its meaning to the final error of a call. Once Close has begun, a lost connection, or a new one that was given up
// other than by the caller, was closed by Close.
func (s *connections) explain(ctx context.Context, err error) error {
	err = translate(err)
	closed := errors.Is(err, jobs.ErrUnavailable) || errors.Is(err, context.Canceled) && ctx.Err() == nil
	if s.closing.Load() && closed && !errors.Is(err, jobs.ErrUnknownOutcome) {
		return fmt.Errorf("%w (%v)", jobs.ErrClosed, err)
	}
	return s.countNeeded(err)
}

// reruns is the number of runs of a transaction that collides with others or loses its connection before the commit.
const reruns = 8

// countNeeded adds to an error the number of connections that a worker needs, if the server has none left.
func (s *connections) countNeeded(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != codeTooMany || errors.As(err, new(*neededError)) {
		return err
	}
	return &neededError{err, s.pool.Config().MaxConns}
}

// neededError states the number of connections that a worker needs.
type neededError struct {
	err  error
	pool int32
}

func (e *neededError) Error() string {
	return fmt.Sprintf("%v: a process with workers needs %d connections, %d of its pool and two more: set a smaller pool_max_conns, or raise the server's max_connections or the role's limit",
		e.err, e.pool+2, e.pool)
}

func (e *neededError) Unwrap() error { return e.err }

// rerun runs a read again if its connection is lost, as many of the pool may be after a restart, or if it collides with another
// transaction, as it may where the role's transactions are serializable.
func (s *connections) rerun(ctx context.Context, read func() error) error {
	for run := 1; ; run++ {
		err := read()
		if err == nil || !broken(err) && !collided(err) || run == reruns || ctx.Err() != nil {
			return core.EndFirst(ctx, s.explain(ctx, err))
		}
		s.distrust(run, err)
	}
}

// distrust renews the connections after one did not answer, after a second loss in a row, and after one with an outdated statement:
// all of them may be lost or have such statements, and there may be more of them than tries.
func (s *connections) distrust(run int, err error) {
	if broken(err) && (run == 2 || errors.Is(err, errSilent)) || isOutdated(err) {
		s.renew()
	}
}

// renew makes the store's own pool replace its connections; it does not touch an application's pool.
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
	var w *watch
	if engine.IsQuick(ctx) {
		w = s.watchPrompt(ctx, conn)
	} else {
		w = s.watches.watch(ctx)
	}
	defer func() { err = w.end(err) }()
	return fn(w.ctx, s.reader(watched{conn.Conn(), w}, prepare))
}

// querier returns the generated statements on a transaction.
func (s *connections) querier(conn dbpostgres.DBTX, prepare bool) db.Querier {
	return queries{own: dbpostgres.New(placed{conn, s.names, prepare})}
}

// reader returns them on a connection for reading. Those of runners, which look again and again, are prepared, and planned as in
// the engine's own transactions.
func (s *connections) reader(conn watched, prepare bool) db.Querier {
	if !prepare || s.unprepared.Load() {
		return s.querier(conn, false)
	}
	return s.querier(preamble{watched: conn, ahead: planByIndexes}, true)
}

func planByIndexes(batch *pgx.Batch) func(pgx.BatchResults) error {
	batch.Queue(control("plan_by_indexes"))
	return takeOne
}

// takeOne reads the results of one statement that was sent ahead.
func takeOne(results pgx.BatchResults) error {
	_, err := results.Exec()
	return err
}

// restedKey is the key under which a connection of the store's own pool records that it was idle before this use.
const restedKey = "sqluice: rested"

// watchPrompt begins to watch a write, or a quick read, on a connection: the server must answer its first statement promptly.
func (s *connections) watchPrompt(ctx context.Context, conn *lentConn) *watch {
	w := s.watches.watch(ctx)
	rested, _ := conn.Conn().PgConn().CustomData()[restedKey].(bool)
	if rested && !s.unprepared.Load() { // behind a pooler it may wait for a server connection
		w.first = min(s.options.prompt, s.options.silence)
	}
	return w
}

// ask runs fn, which reads, on a connection of the pool as [connections.rerun] says, and watches that the server answers.
func (s *connections) ask(ctx context.Context, fn func(context.Context, *lentConn) error) error {
	return s.rerun(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		w := s.watches.watch(ctx)
		return w.end(fn(w.ctx, conn))
	})
}

// acquire returns a connection of the pool. It may block: all may be in use, or a new one must be made, or an old one
// checked while the server does not answer.
func (s *connections) acquire(ctx context.Context) (*lentConn, error) {
	return s.lend(func() (*pgxpool.Conn, error) { return s.take(ctx) })
}

// lend takes a connection and counts it as in use until it is released.
func (s *connections) lend(take func() (*pgxpool.Conn, error)) (*lentConn, error) {
	s.lent.add(1)
	if s.closing.Load() { // otherwise Close waits for it
		s.lent.add(-1)
		return nil, jobs.ErrClosed
	}
	conn, err := take()
	if err != nil {
		s.lent.add(-1)
		return nil, err
	}
	return &lentConn{conn, s}, nil
}

func (s *connections) take(ctx context.Context) (*pgxpool.Conn, error) {
	w := s.watches.watch(ctx)
	defer func() { _ = w.end(nil) }()
	ctx = w.ctx
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

// poolConn renames the embedded type, because its name Conn is also one of its methods.
type poolConn = pgxpool.Conn

// lentConn is a connection of the pool, valid until Release. Only one goroutine uses it.
type lentConn struct {
	*poolConn
	store *connections // nil after Release
}

// Release returns the connection to the pool. It closes the connection if a statement is running or a transaction is open. Further
// calls do nothing.
func (c *lentConn) Release() {
	if c.store == nil {
		return
	}
	c.poolConn.Release()
	c.store.lent.add(-1)
	c.store = nil
}

// lentConns counts the connections in use by calls.
type lentConns struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n falls to 0; nil until over is called
}

func (l *lentConns) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n += n; l.n == 0 && l.none != nil {
		close(l.none)
		l.none = nil
	}
}

// over returns a channel that is closed when no connection is in use.
func (l *lentConns) over() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.none == nil {
		l.none = make(chan struct{})
	}
	over := l.none
	if l.n == 0 {
		close(over)
		l.none = nil
	}
	return over
}

// closeWithin is the longest time that Close waits, once no call uses the connections, for the server to close them: a stopped server
// never does, and pgx waits 15 seconds for it.
const closeWithin = 500 * time.Millisecond

// closePool closes the store's own pool. It waits for calls under way.
func (s *connections) closePool() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.pool.Close()
	}()
	select {
	case <-closed:
		return
	case <-s.lent.over():
	}
	timer := time.NewTimer(closeWithin)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
}
