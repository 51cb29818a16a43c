package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/jobs"
)

// outcomes asks the server for the outcomes of transactions.
type outcomes struct{ conns *connections }

// wasCommitted asks the server for the outcome of a transaction whose connection was lost. It blocks while the transaction may
// still be running there, or while the server is away, until ctx ends.
//
// A server that crashed forgets the transactions that it had not begun to write to disk, and a promoted standby may never have
// received them; both assign their numbers again. So the answer counts only in the same life of the server. Its statistics
// identify the life: a crash resets them, and each server has separate ones. (After a manual reset the existing connections
// belong to an earlier life: the outcome of a commit that such a connection loses is unknown.)
func (s outcomes) wasCommitted(ctx context.Context, id int64, life string) (bool, error) {
	s.conns.renew() // the others may be lost without notice
	ctx, cancel := context.WithTimeoutCause(ctx, s.conns.options.asking, errSilent)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		status, silent, err := s.askStatus(ctx, id, life)
		switch {
		case err == nil:
			if committed, known, err := status.outcome(); known {
				return committed, err
			}
		case neverGiven(err):
			return false, nil
		case !lost(err) && !silent && ctx.Err() == nil:
			return false, err
		}
		if !outage.Sleep(ctx, pause) {
			return false, errors.Join(context.Cause(ctx), err)
		}
	}
}

// transactionStatus is the server's answer about a transaction.
type transactionStatus struct {
	name     string // a word of transaction_status.sql
	sameLife bool   // same life of the server
}

// inProgress is the name of a transaction that has not ended.
const inProgress = "in progress"

func (s *transactionStatus) values() []any { return []any{&s.name, &s.sameLife} }

// outcome returns whether the transaction was committed, or an error if the server cannot tell. known is false if a later
// answer may say more: the transaction may be running, or a standby may lag behind and become the server.
func (s transactionStatus) outcome() (committed, known bool, err error) {
	switch s.name {
	case "committed":
		if !s.sameLife {
			return false, true, errors.New("the server restarted or was replaced, and may have given the transaction's number to another transaction")
		}
		return true, true, nil
	case "aborted":
		return false, true, nil
	case "forgotten":
		return false, true, errors.New("the server has forgotten the transaction")
	}
	return false, false, nil
}

// askStatus asks once for the outcome of a transaction. silent reports that the connection did not answer in time: another one may.
func (s outcomes) askStatus(ctx context.Context, id int64, life string) (status transactionStatus, silent bool, err error) {
	conn, err := s.conns.lend(func() (*pgxpool.Conn, error) { return s.conns.pool.Acquire(ctx) })
	if err != nil {
		return status, false, err
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(ctx, s.conns.options.prompt)
	defer cancel()
	err = conn.QueryRow(ctx, control("transaction_status"), once(id, life)...).Scan(status.values()...)
	return status, ctx.Err() != nil, err
}

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
		return errors.New("the server restarted or was replaced")
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
