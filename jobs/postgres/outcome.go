package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// confirm waits until the synchronous standbys have everything that the server has committed: a commit returns after earlier ones. It
// returns nil only in the same life of the server, and if the wait was not cancelled. It uses its own connection, and waits no longer
// than a write whose connection broke asks for its outcome.
func (s outcomes) confirm(ctx context.Context, life string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.conns.options.asking, errSilent)
	defer cancel()
	if err := s.confirmOnce(ctx, life); err != nil {
		return fmt.Errorf("%w: %w: %w", jobs.ErrUnknownOutcome, errUnreplicated, core.EndFirst(ctx, err))
	}
	return nil
}

func (s outcomes) confirmOnce(ctx context.Context, life string) error {
	conn, err := sessions(s).connectAsPool(ctx)
	if err != nil {
		return err
	}
	defer closeSoon(ctx, conn)
	if _, err := conn.Exec(ctx, control("begin"), once()...); err != nil {
		return err
	}
	var position string
	var same bool
	if err := conn.QueryRow(ctx, control("log_record_in_life"), once(life)...).Scan(&position, &same); err != nil {
		return err
	}
	if !same {
		return errors.New("the server crashed or is another")
	}
	tag, err := conn.Exec(ctx, control("commit"), once()...)
	switch {
	case err != nil:
		return err
	case tag.String() != "COMMIT":
		return errors.New("the server rolled a transaction back")
	case unreplicated(conn):
		return errUnreplicated
	}
	return nil
}

// commitEnded logs that the server confirms commits again, after the last hanging commit.
func (s outcomes) commitEnded(w *watch) {
	if hung := s.conns.hung.remove(w); hung > 0 {
		s.conns.options.logger.Info("no commit hangs any more", "after", hung.Round(time.Millisecond))
	}
}
