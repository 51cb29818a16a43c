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

	"github.com/sqluice/sqluice/internal/queue/engine"
)

// connectWithin is the longest time to make a connection unless the URL says connect_timeout: with a host that does not
// answer at all, a connect would otherwise take minutes.
const connectWithin = 10 * time.Second

const (
	// pingAfter is the idle time after which a connection of the pool is checked before its next use. pgx checks after a second,
	// one round trip for nearly every job of a service that adds jobs now and then. Statements on a lost connection are sent
	// again on another one, except a lone claim, whose runner looks again.
	pingAfter = askEvery

	// restedAfter is the idle time of a connection after which the first statement of a write has less time than other
	// statements: a network may have dropped the connection without notice.
	restedAfter = time.Second

	// promptly is the time of this first statement. It exceeds the transaction's lock_timeout: waiting for a lock is no silence.
	promptly = 8 * time.Second
)

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
	store, err = newBackend(pool, append(given, opts...))
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	store.conns.ownPool, store.conns.sessions = true, &sessions
	return store, nil
}

// restedKey is the key under which a connection of the store's own pool records that it was idle before this use.
const restedKey = "sqluice: rested"

// watchPrompt begins to watch a write, or a quick read, on a connection: the server must answer its first statement promptly.
func (s *connections) watchPrompt(ctx context.Context, conn *lentConn) *watch {
	w := newWatch(ctx, s.options.silence)
	rested, _ := conn.Conn().PgConn().CustomData()[restedKey].(bool)
	if rested && !s.unprepared.Load() { // behind a pooler it may wait for a server connection
		w.first = min(s.options.prompt, s.options.silence)
	}
	return w
}

// newBackendOn implements New.
func newBackendOn(pool *pgxpool.Pool, opts ...Option) (*backend, error) {
	store, err := newBackend(pool, opts)
	if err != nil {
		return nil, fmt.Errorf("new PostgreSQL store: %w", err)
	}
	return store, nil
}

func newBackend(pool *pgxpool.Pool, opts []Option) (*backend, error) {
	if pool == nil {
		return nil, errors.New("the pool is nil")
	}
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	c := &connections{sessions: &atomic.Bool{}, pool: pool, options: o, names: &namespace{schema: o.schema}, clock: clock{local: o.local, monotonic: time.Now}}
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
	s := &backend{conns: c, schema: &schema{conns: c}, inspecting: make(chan struct{}, inspections(pool.Config().MaxConns))}
	s.sealed = engine.SealStore(s)
	s.locks = &workerLocks{conns: c, now: s.Now}
	s.hub, s.cursors, s.inserts = newHub(s), newCursors(time.Now, s.lookBelow), newInserts(s)
	s.writer = &writer{conns: c, hub: s.hub, ready: s.ready}
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
