// Package postgres is the queue's engine on PostgreSQL (pgx): many machines share one queue.
//
// A process with workers keeps two connections beside its pool: one listens for notifications, one holds a lock that
// shows that the worker lives. Leases and due times go by the server's clock.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// Store is a queue in a PostgreSQL database. Make one with [Open] or [New], and close it when all runners have returned. Its methods
// may be called concurrently.
type Store struct {
	sealed
	backend *backend
}

// Open returns a store of the queue in the database that a URL names, as postgres://user:password@host:5432/name, with
// a pool of its own. It does not connect yet, so that programs can start before their server: the first use does. It
// does not migrate: see [github.com/sqluice/sqluice/jobs.Client.Migrate].
//
// Beside libpq's and pgx's parameters, such as sslmode and pool_max_conns, the URL takes the options of this package:
// schema=NAME, pgbouncer=true, notify=false, poll=500ms. Errors never show a password.
func Open(ctx context.Context, url string, opts ...Option) (*Store, error) {
	return newStore(openBackend(ctx, url, opts...))
}

// New returns a store of the queue that uses an application's own pool, which the application closes. A process with
// workers keeps two more connections beside it. Handlers that hold a connection while they wait for another can exhaust
// the pool: give it a few more than the handlers that use it at once.
func New(pool *pgxpool.Pool, opts ...Option) (*Store, error) {
	b, err := newBackend(pool, opts...)
	return newStore(core.Result(b, err, "new PostgreSQL store"))
}

func newStore(b *backend, err error) (*Store, error) {
	if err != nil {
		return nil, err
	}
	return &Store{b.sealed, b}, nil
}

// Close ends the running work of the store and closes its connections, but not a pool that was given to [New].
func (s *Store) Close() error { return s.backend.Close() }

// openBackend implements Open.
func openBackend(ctx context.Context, url string, opts ...Option) (*backend, error) {
	rest, given, err := splitURL(url)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	config, err := pgxpool.ParseConfig(rest)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", hideURL(err))
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "sqluice"
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectWithin
	}
	useUTF8(config.ConnConfig)
	if config.PingTimeout == 0 {
		config.PingTimeout = answerWithin
	}
	var store *backend
	var sessions atomic.Bool
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		pid := conn.PgConn().PID()
		if sessions.Load() {
			pid = 0
		}
		return stay(ctx, conn, pid)
	}
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		asked := p.IdleDuration > pingAfter
		data := p.Conn.PgConn().CustomData()
		_, used := data[restedKey] // otherwise it has just been made, however long that took
		data[restedKey] = used && p.IdleDuration > store.conns.options.rested && !asked
		return asked
	}
	Configure(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	store, err = newBackend(pool, append(given, opts...)...)
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	store.conns.ownPool, store.conns.sessions = true, &sessions
	return store, nil
}

// newBackend connects the parts of the engine.
func newBackend(pool *pgxpool.Pool, opts ...Option) (*backend, error) {
	if pool == nil {
		return nil, errors.New("the pool is nil")
	}
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	c := &connections{sessions: &atomic.Bool{}, pool: pool, options: o, names: &namespace{schema: o.schema}, clock: clock{local: o.local, monotonic: time.Now}}
	c.watches = newWatches(o.silence, o.prompt)
	c.pooled.Store(o.pooled && o.session == "")
	c.unprepared.Store(o.pooled)
	c.session = pool.Config().ConnConfig
	c.mode = c.session.DefaultQueryExecMode
	if o.session != "" {
		url, _, err := splitURL(o.session) // the pool's URL or an option already has these parameters
		if err != nil {
			return nil, fmt.Errorf("session URL: %w", err)
		}
		if c.session, err = pgx.ParseConfig(url); err != nil {
			return nil, fmt.Errorf("session URL: %w", hideURL(err))
		}
	}
	useUTF8(c.session)
	s := &backend{conns: c, schema: &migrator{conns: c}, inspecting: make(chan struct{}, inspections(pool.Config().MaxConns))}
	s.sealed = engine.SealStore(s)
	s.locks = &workerLocks{conns: c, now: s.Now}
	s.hub, s.cursors = newHub(c, s.Read), newCursors(time.Now, s.lookBelow)
	s.writer = &writer{conns: c, hub: s.hub, ready: s.ready}
	s.inserts = newInserts(inserter{s.writer, s.cursors})
	return s, nil
}

// hideURL keeps the cause of a URL's error and drops the URL, which may hold a password in a place where pgx does not
// look for one.
func hideURL(err error) error {
	text := err.Error()
	what := text[strings.LastIndex(text, "`: ")+1:]
	what = strings.TrimPrefix(what, ": ")
	if what == text || strings.HasPrefix(what, "failed to parse") {
		return errors.New("the URL is not well formed: it is postgres://user:password@host:5432/database?parameter=value, with % and two hex digits for each special character in a part")
	}
	return fmt.Errorf("the URL: %s", what)
}
