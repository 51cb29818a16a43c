package postgres

import (
	"context"
	"errors"
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
	notice func(*pgconn.Notification)             // gets its notifications
	failed func(error)                            // is called when it is lost, or could not be made
	lost   string                                 // what the log says then, once
	back   string                                 // and when there is one again
}

// hold keeps a connection open until ctx ends.
func (s *connections) hold(ctx context.Context, h held) {
	var lost time.Time
	for failures := 0; ctx.Err() == nil; {
		begun := time.Now()
		err := s.holdOnce(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			err := h.setup(ctx, conn)
			if err == nil {
				if failures > 0 {
					s.options.logger.Info(h.back, "after", time.Since(lost).Round(time.Millisecond))
				}
				failures = 0
				s.connecting.Store(int64(time.Since(begun)))
			}
			return err
		}, h.notice)
		if ctx.Err() != nil {
			return
		}
		if failures++; failures == 1 {
			lost = time.Now()
			s.options.logger.Warn(h.lost, "error", translate(err))
		}
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
func (s *connections) holdOnce(ctx context.Context, setup func(context.Context, *pgx.Conn) error, notice func(*pgconn.Notification)) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() {
		over := ctx.Err() != nil
		// Not for long: who waits for this may be a worker that starts anew, and the connection may be dead without its being
		// known.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
		defer cancel()
		if over {
			// The server would notice the end of the connection too, but later. It ends in any case: an error changes nothing.
			_, _ = conn.Exec(ctx, control("unlock"), pgx.QueryExecModeExec)
		}
		_ = conn.Close(ctx)
	}()
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
			if err != nil {
				return errors.Join(errSilent, err)
			}
		}
	}
}

// connect makes a connection outside the pool, with the pool's own ways of getting a password.
func (s *connections) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	config := s.session.Copy()
	if before := s.beforeConnect(); before != nil {
		if err := before(ctx, config); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, config)
}

// beforeConnect is the pool's way to a password, if it has one and the connection leads where the pool's do.
func (s *connections) beforeConnect() func(context.Context, *pgx.ConnConfig) error {
	if s.options.session != "" {
		return nil
	}
	return s.pool.Config().BeforeConnect
}
