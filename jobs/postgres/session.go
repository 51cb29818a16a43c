package postgres

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/outage"
)

// held is a separate connection that a process keeps open.
type held struct {
	setup  func(context.Context, *pgx.Conn) error // runs on each new connection
	dial   func(pgconn.DialFunc) pgconn.DialFunc  // wraps dialing; optional
	notice func(*pgconn.Notification)             // receives the notifications
	failed func(error)                            // called when the connection is lost, or could not be made
	first  bool                                   // failed reports the first failure to connect, so that the log need not
	lost   string                                 // log message when it is lost
	back   string                                 // log message when there is one again
}

// lossesEvery is the log interval for a connection that is lost again and again, for example through a proxy that ends idle ones.
const lossesEvery = 30 * time.Second

// lossLog logs lost connections: the first one, and at most one each lossesEvery, with the number of losses since the
// last logged one. It logs the others at debug level.
type lossLog struct {
	held    held
	log     *slog.Logger
	began   time.Time // start of the outage; zero without one
	told    time.Time // time of the last loss logged as a warning
	untold  int       // losses since then
	level   slog.Level
	existed bool // there was a connection
}

func (l *lossLog) lost(err error) {
	if !l.began.IsZero() {
		return
	}
	l.began = time.Now()
	l.untold++
	if !l.existed && l.held.first {
		return
	}
	if l.level = slog.LevelDebug; l.told.IsZero() || time.Since(l.told) >= lossesEvery {
		l.level = slog.LevelWarn
	}
	l.log.Log(context.Background(), l.level, l.held.lost, "error", err, "losses", l.untold)
	if l.level == slog.LevelWarn {
		l.told, l.untold = l.began, 0
	}
}

func (l *lossLog) back() {
	if began := l.began; !began.IsZero() && (l.existed || !l.held.first) {
		l.log.Log(context.Background(), min(l.level, slog.LevelInfo), l.held.back, "after", time.Since(began).Round(time.Millisecond))
	}
	l.began, l.existed = time.Time{}, true
}

// sessions makes separate connections for the process, outside the pool.
type sessions struct{ conns *connections }

// hold keeps a connection open until ctx ends.
func (s sessions) hold(ctx context.Context, h held) {
	all := lossLog{held: h, log: s.conns.options.logger}
	for failures := 0; ctx.Err() == nil; {
		begun := time.Now()
		err := s.holdOnce(ctx, h.dial, func(ctx context.Context, conn *pgx.Conn) error {
			err := h.setup(ctx, conn)
			if err == nil {
				all.back()
				failures = 0
				s.conns.connecting.Store(int64(time.Since(begun)))
			}
			return err
		}, h.notice)
		if ctx.Err() != nil {
			return
		}
		failures++
		all.lost(s.conns.countNeeded(translate(err)))
		h.failed(err)
		outage.Sleep(ctx, min(reconnectFirst<<min(failures-1, 10), reconnectLast))
	}
}

// holdOnce makes one connection and keeps it until it is lost.
func (s sessions) holdOnce(
	ctx context.Context, dial func(pgconn.DialFunc) pgconn.DialFunc,
	setup func(context.Context, *pgx.Conn) error, notice func(*pgconn.Notification),
) error {
	conn, err := s.connectBy(ctx, dial)
	if err != nil {
		return err
	}
	defer func() {
		over := ctx.Err() != nil
		// Not for long: a restarting worker may be waiting, and the connection may be dead without notice.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
		defer cancel()
		if over {
			// The server would notice the end of the connection too, but later. It ends in any case: an error changes nothing.
			_, _ = conn.Exec(ctx, control("unlock"), pgx.QueryExecModeExec)
		}
		_ = conn.Close(ctx)
	}()
	if err := stay(ctx, conn, 0); err != nil {
		return err
	}
	if err := setup(ctx, conn); err != nil {
		return err
	}
	for {
		waiting, cancel := context.WithTimeout(ctx, askEvery)
		n, err := conn.WaitForNotification(waiting)
		idle := waiting.Err() != nil
		cancel()
		switch {
		case err == nil:
			notice(n)
		case ctx.Err() != nil:
			return ctx.Err()
		case !idle:
			return err
		default:
			asking, cancel := context.WithTimeout(ctx, answerWithin)
			err := conn.Ping(asking)
			cancel()
			if err != nil { // after any error the connection is unusable
				return errors.Join(errSilent, err)
			}
		}
	}
}

// stay turns off the server's idle timeouts for the connection, such as that of an idle worker. If pid is not 0, it does so only if the
// server has the connection under this number: behind a pooler the server connection may be another client's next.
func stay(ctx context.Context, conn *pgx.Conn, pid uint32) error {
	return inTime(ctx, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, control("stay"), once(int64(pid))...)
		return err
	})
}

// connect makes a connection outside the pool, with the pool's own source of passwords.
func (s sessions) connect(ctx context.Context) (*pgx.Conn, error) { return s.connectBy(ctx, nil) }

// connectBy calls connect with a function that wraps the dialing, unless it is nil.
func (s sessions) connectBy(ctx context.Context, dial func(pgconn.DialFunc) pgconn.DialFunc) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	config := s.conns.session.Copy()
	if before := s.beforeConnect(); before != nil {
		if err := before(ctx, config); err != nil {
			return nil, err
		}
	}
	if dial != nil {
		config.DialFunc = dial(config.DialFunc)
	}
	return pgx.ConnectConfig(ctx, config)
}

// beforeConnect returns the pool's hook that sets a password, if it has one and the connection leads where the pool's do.
func (s sessions) beforeConnect() func(context.Context, *pgx.ConnConfig) error {
	if s.conns.options.session != "" {
		return nil
	}
	return s.conns.pool.Config().BeforeConnect
}

// askClock uses its own connection: transactions, the caller's among them, may hold all of the pool's.
func (s sessions) askClock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := s.measureClock(ctx); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		s.conns.options.logger.Debug("the server's clock is not known", "error", translate(err))
	}
}

func (s sessions) measureClock(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	var server int64
	sent := s.conns.clock.instant()
	err = conn.QueryRow(ctx, control("server_time"), pgx.QueryExecModeExec).Scan(&server)
	if err == nil {
		s.conns.clock.sample(server, sent, s.conns.clock.instant())
	}
	return errors.Join(err, conn.Close(ctx))
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
