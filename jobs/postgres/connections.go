package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// connections holds the pool, and makes the separate connections that listen and hold locks.
type connections struct {
	pool        *pgxpool.Pool
	ownPool     bool
	session     *pgx.ConnConfig   // configures the connections that listen and hold locks
	mode        pgx.QueryExecMode // of the pool's connections
	options     options
	names       *namespace
	clock       clock
	self        atomic.Pointer[identity] // of the database, when last read
	pooled      atomic.Bool              // a pooler without a way round it: no notifications, no locks
	unprepared  atomic.Bool              // a pooler: no prepared statements
	sessions    *atomic.Bool             // true: a pooler whose clients each keep their own connection to the server
	closing     atomic.Bool              // Close has begun
	connecting  atomic.Int64             // time to make and set up the last connection outside the pool
	lent        lending                  // connections of the pool in use
	synchronous atomic.Bool              // the server had synchronous standbys when a transaction last began
	hung        hanging                  // commits that the server has not confirmed for long

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
		if broken(err) {
			s.distrust(run, err)
		}
	}
}

// distrust renews the connections after one did not answer, or after a second loss in a row: all of them may be lost, and there may
// be more of them than tries.
func (s *connections) distrust(run int, err error) {
	if run == 2 || errors.Is(err, errSilent) {
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
		w = newWatch(ctx, s.options.silence)
	}
	defer func() { err = w.end(err) }()
	return fn(w.ctx, s.reader(watched{conn.Conn(), w}, prepare))
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

// lending counts the connections in use by calls.
type lending struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n falls to 0; nil until over is called
}

func (l *lending) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n += n; l.n == 0 && l.none != nil {
		close(l.none)
		l.none = nil
	}
}

// over returns a channel that is closed when no connection is in use.
func (l *lending) over() <-chan struct{} {
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

// queryRow reads the one row of a statement of sql/control, which is prepared unless the arguments are those of [once].
func (s *connections) queryRow(ctx context.Context, name string, args []any, values ...any) error {
	if err := s.look(ctx); err != nil {
		return err
	}
	for n := 1; ; n++ {
		err := s.rerun(ctx, func() error {
			conn, err := s.acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			w := newWatch(ctx, s.options.silence)
			return w.end(conn.QueryRow(w.ctx, s.names.qualify(control(name)), args...).Scan(values...))
		})
		if n == endedMost || !endedByServer(err) || ctx.Err() != nil {
			return err
		}
	}
}

// endedMost is the number of times that one of the library's own short queries is sent when the server ends it: a busy server may take
// longer than a role's short statement_timeout.
const endedMost = 5

func (s *connections) query(ctx context.Context, value any, name string, args ...any) error {
	return s.queryRow(ctx, name, once(args...), value)
}

// look checks, at the first connection, whether the database can hold a queue, and whether a pooler is in front of the
// server: a pooler gives its clients a connection number other than the server's process id.
func (s *connections) look(ctx context.Context) error {
	s.looking.Lock()
	looked := s.looked
	s.looking.Unlock()
	if looked {
		return nil
	}
	var pid, said uint32
	var encoding, version string
	err := s.rerun(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		said = conn.Conn().PgConn().PID()
		w := newWatch(ctx, s.options.silence)
		return w.end(conn.QueryRow(w.ctx, control("backend"), pgx.QueryExecModeExec).Scan(&pid, &encoding, &version))
	})
	if err == nil {
		err = errors.Join(checkServerSessions(version), checkServerEncoding(encoding))
	}
	if err != nil {
		return err
	}
	sessions := pid != said && !s.options.pooled && s.options.session == "" && sessions{s}.poolsSessions(ctx)
	s.looking.Lock()
	defer s.looking.Unlock()
	if s.looked {
		return nil
	}
	s.looked = true
	s.sessions.Store(sessions)
	if pid == said && !s.options.pooled || sessions {
		return nil
	}
	s.unprepared.Store(true)
	if s.options.session == "" && !s.pooled.Swap(true) {
		s.options.logger.Warn("there is a pooler before the PostgreSQL server: polling for jobs, and telling by leases alone that a worker is gone; connect to the server itself, name it beside the pooler with WithSession, or say pgbouncer=true in the URL")
	}
	return nil
}

// errOneSession refuses a server whose clients share one session: their transactions would mix, and each would hold the others' locks.
var errOneSession = errors.New("the server is PGlite, whose clients all share one session, where the queue needs a session for each connection: " +
	"connect to a PostgreSQL server, or use SQLite (jobs/sqlite), which needs no server")

// checkServerSessions returns an error if the server's version shows that its clients share one session. PGlite is PostgreSQL compiled for
// WebAssembly, where a server has one process; older releases name the compiler alone.
func checkServerSessions(version string) error {
	lower := strings.ToLower(version)
	if strings.Contains(lower, "pglite") || strings.Contains(lower, "emscripten") {
		return errOneSession
	}
	return nil
}

// heardWithin is the longest time that a notification may take from one client of a pooler to another.
const heardWithin = time.Second

// poolsSessions reports whether the pooler in front of the server leaves each client its own connection to the server, as PgBouncer
// does in session mode. There an idle client receives notifications. If this cannot be determined, it returns false.
func (s sessions) poolsSessions(ctx context.Context) bool {
	own, err := s.hearsNotifications(ctx)
	if err != nil {
		s.conns.options.logger.Debug("cannot find out how the pooler gives out connections", "error", translate(err))
	}
	return own
}

func (s sessions) hearsNotifications(ctx context.Context) (heard bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var clients [2]*pgx.Conn
	var backends [2]uint32
	for i := range clients {
		if clients[i], err = s.connectAsPool(ctx); err != nil {
			return false, err
		}
		defer closeSoon(ctx, clients[i]) // nothing is open on it
		if err := clients[i].QueryRow(ctx, control("backend"), pgx.QueryExecModeExec).Scan(&backends[i], nil, nil); err != nil {
			return false, err
		}
	}
	if backends[0] == backends[1] {
		return false, nil
	}
	listener, notifier := clients[0], clients[1]
	channel := "sqluice_probe_" + strings.ToLower(rand.Text())
	if _, err := listener.Exec(ctx, controlOn("listen", channel), pgx.QueryExecModeSimpleProtocol); err != nil {
		return false, err
	}
	if _, err := notifier.Exec(ctx, control("notify"), once(channel, "")...); err != nil {
		return false, err
	}
	waiting, stop := context.WithTimeout(ctx, heardWithin)
	defer stop()
	if _, err = listener.WaitForNotification(waiting); err == nil {
		return true, nil
	}
	if waiting.Err() != nil && ctx.Err() == nil {
		// The pooler's connection listens now, probably the same server connection.
		_, err = notifier.Exec(ctx, controlOn("unlisten", channel), pgx.QueryExecModeSimpleProtocol)
	}
	return false, err
}

// closeSoon closes a connection, and does not wait long for a server that does not answer.
func closeSoon(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := core.Linger(ctx)
	defer cancel()
	_ = conn.Close(ctx)
}

// connectAsPool makes a connection with the pool's settings.
func (s sessions) connectAsPool(ctx context.Context) (*pgx.Conn, error) {
	config, before := s.conns.pool.Config().ConnConfig, s.conns.pool.Config().BeforeConnect
	hearNotices(&config.Config)
	if before != nil {
		if err := before(ctx, config); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, config)
}
