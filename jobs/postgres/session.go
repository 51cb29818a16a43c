package postgres

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// askEvery is how often a connection that has nothing to say is asked whether it is still there.
	askEvery = 10 * time.Second

	// answerWithin is how long it, and the making of a new one, may take.
	answerWithin = 5 * time.Second

	// The bounds of the pause before a lost connection is made anew.
	reconnectFirst = 10 * time.Millisecond
	reconnectLast  = time.Second
)

// held is a connection of its own that a process keeps open.
type held struct {
	setup  func(context.Context, *pgx.Conn) error // runs on each new one
	dial   func(pgconn.DialFunc) pgconn.DialFunc  // wraps the making of its connections; optional
	notice func(*pgconn.Notification)             // gets its notifications
	failed func(error)                            // is called when it is lost, or could not be made
	first  bool                                   // failed tells the caller why there is none yet, so that the log need not
	lost   string                                 // what the log says when it is lost
	back   string                                 // and when there is one again
}

// lossesEvery is how often the log tells of a connection that is lost again and again, as by a proxy that ends silent ones.
const lossesEvery = 30 * time.Second

// losses log the losses of a held connection: the first one, and at most one each lossesEvery, with the number of those since the last
// that was logged. Others are logged at debug level.
type losses struct {
	held    held
	log     *slog.Logger
	began   time.Time // the outage; the zero time: there is none
	told    time.Time // when a loss was last logged
	untold  int       // losses since
	level   slog.Level
	existed bool // there was a connection
}

func (l *losses) lost(err error) {
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

func (l *losses) back() {
	if began := l.began; !began.IsZero() && (l.existed || !l.held.first) {
		l.log.Log(context.Background(), min(l.level, slog.LevelInfo), l.held.back, "after", time.Since(began).Round(time.Millisecond))
	}
	l.began, l.existed = time.Time{}, true
}

// sessions makes connections of the process's own, outside the pool.
type sessions struct{ conns *connections }

// hold keeps a connection open until ctx ends.
func (s sessions) hold(ctx context.Context, h held) {
	losses := losses{held: h, log: s.conns.options.logger}
	for failures := 0; ctx.Err() == nil; {
		begun := time.Now()
		err := s.holdOnce(ctx, h.dial, func(ctx context.Context, conn *pgx.Conn) error {
			err := h.setup(ctx, conn)
			if err == nil {
				losses.back()
				failures = 0
				s.conns.connecting.Store(int64(time.Since(begun)))
			}
			return err
		}, h.notice)
		if ctx.Err() != nil {
			return
		}
		failures++
		losses.lost(s.conns.countNeeded(translate(err)))
		h.failed(err)
		timer := time.NewTimer(min(reconnectFirst<<min(failures-1, 10), reconnectLast))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// holdOnce is one connection, until it is lost.
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
		// Not for long: a restarting worker may be waiting, and the connection may be dead without its being known.
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
			if err != nil { // whatever it is, the connection is of no use any more
				return errors.Join(errSilent, err)
			}
		}
	}
}

// stay has the server not end a connection because it is silent, as that of an idle worker is. When pid is not 0, that happens only if the
// server has the connection by this number: behind a pooler it may be another client's the next time.
func stay(ctx context.Context, conn *pgx.Conn, pid uint32) error {
	return inTime(ctx, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, control("stay"), once(int64(pid))...)
		return err
	})
}

// connect makes a connection outside the pool, with the pool's own ways of getting a password.
func (s sessions) connect(ctx context.Context) (*pgx.Conn, error) { return s.connectBy(ctx, nil) }

// connectBy is connect with a function that wraps the dialing, unless it is nil.
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

// beforeConnect is the pool's way to a password, if it has one and the connection leads where the pool's do.
func (s sessions) beforeConnect() func(context.Context, *pgx.ConnConfig) error {
	if s.conns.options.session != "" {
		return nil
	}
	return s.conns.pool.Config().BeforeConnect
}
