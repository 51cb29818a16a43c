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

// connectWithin is how long the making of a connection may take unless the URL says connect_timeout: a host that does
// not answer at all would else be waited for for minutes.
const connectWithin = 10 * time.Second

const (
	// pingAfter is for how long a connection of the pool was not used when it is asked, before its next use, whether it is still
	// there. pgx does so after a second, which is a round trip for nearly every job of a service that adds one now and then. What
	// is sent on a connection that is lost is sent again on another, but for a lone claim, whose runner looks again.
	pingAfter = askEvery

	// restedAfter is for how long a connection was not used when a write on it is not given the time for its first statement that
	// a statement may take: a network may have forgotten it without telling.
	restedAfter = time.Second

	// promptly is that time. It is more than the transaction's lock_timeout: that a lock cannot be had is no silence.
	promptly = 8 * time.Second
)

// openBackend does what Open does.
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
		_, used := data[restedKey] // else it has just been made, however long that took
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

// restedKey is where a connection of the store's own pool keeps whether it was not used for a while when it was taken.
const restedKey = "sqluice: rested"

// watchPrompt begins to watch a write, or a read that is quick, on a connection: the server answers its first statement promptly.
func (s *connections) watchPrompt(ctx context.Context, conn *lentConn) *watch {
	w := newWatch(ctx, s.options.silence)
	rested, _ := conn.Conn().PgConn().CustomData()[restedKey].(bool)
	if rested && !s.unprepared.Load() { // a pooler may have it wait for a connection to the server
		w.first = min(s.options.prompt, s.options.silence)
	}
	return w
}

// newBackendOn does what New does.
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
		url, _, err := splitURL(o.session) // what it says of the queue, the other URL or an option says too
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

// hideURL keeps what is wrong with a URL and drops the URL, which may hold a password in a place where pgx does not
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
