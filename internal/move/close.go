package move

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sqluice/sqluice/db"
)

// undoWithin bounds the time for the reopening of a side after a refusal or an interruption.
const undoWithin = 30 * time.Second

// closeSource begins a move: it makes the checks that an open source allows, and closes the source.
func (m *mover) closeSource(ctx context.Context) error {
	m.Progress(Progress{Doing: "looking at both sides", Percent: -1})
	if err := m.checkEmpty(ctx); err != nil {
		return err
	}
	if err := m.checkIdle(ctx); err != nil {
		return err
	}
	if err := m.checkRows(ctx); err != nil {
		return err
	}
	m.token = rand.Text()
	if err := m.From.close(ctx, out, m.token, m.To.Name); err != nil {
		return m.undo(ctx, err)
	}
	return m.closeTarget(ctx)
}

// closeTarget continues a move whose source is closed and whose target is open. Every failure opens the source again, because no row
// has been copied.
func (m *mover) closeTarget(ctx context.Context) error {
	// Transactions that add rows to the source have ended when this returns.
	m.Progress(Progress{Doing: "waiting for transactions on " + m.From.Name, Percent: -1})
	if err := m.From.Store.Upkeep().Settle(ctx); err != nil {
		return m.undo(ctx, m.From.fault(fmt.Errorf("wait for transactions: %w", err)))
	}
	// A worker may have started between the first check and the closing. Now none can start.
	if err := m.checkIdle(ctx); err != nil {
		return m.undo(ctx, err)
	}
	err := m.prepareTarget(ctx)
	if err == nil || errors.Is(err, errTwice) {
		return err
	}
	return m.undoBoth(ctx, err)
}

// prepareTarget closes the target and checks that it is empty. It reserves ids before the first row is added, so that a role without that
// right fails early. Of several calls for one move only one completes prepareTarget and adds rows.
func (m *mover) prepareTarget(ctx context.Context) error {
	if err := m.To.close(ctx, in, m.token+markPreparing, m.From.Name); err != nil {
		return err
	}
	m.Progress(Progress{Doing: "waiting for transactions on " + m.To.Name, Percent: -1})
	if err := m.To.Store.Upkeep().Settle(ctx); err != nil {
		return m.To.fault(fmt.Errorf("wait for transactions: %w", err))
	}
	if err := m.checkEmpty(ctx); err != nil {
		return err
	}
	if err := m.reserveIDs(ctx, m.token+markPreparing); err != nil {
		return err
	}
	// Without jobs, ended workers are no history, and their ids may conflict: they are deleted, with their declarations. The deletion
	// is in the transaction that only one call completes, so that no call removes the rows of a faster one.
	filling := db.CloseQueueParams{Direction: in, Token: m.token, Peer: m.From.Name}
	n, err := m.To.mark(ctx, m.token+markPreparing, filling, func(ctx context.Context, q db.Querier) error {
		if _, err := q.DeleteEndedWorkers(ctx, math.MaxInt64); err != nil {
			return err
		}
		return q.DeleteDeclarations(ctx)
	})
	if err == nil && n == 0 {
		err = m.To.fault(errTwice)
	}
	return err
}

// close adds the row that closes a side, and checks that the side has no other: two moves can close one database at the same time, in
// different directions.
func (s Side) close(ctx context.Context, direction, token, peer string) error {
	err := s.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		_, err := q.CloseQueue(ctx, db.CloseQueueParams{
			Direction: direction, Token: token, Peer: peer, Now: s.Store.Now().UnixMicro(),
		})
		return err
	})
	if err != nil {
		return s.fault(fmt.Errorf("close the queue: %w", err))
	}
	row, err := s.moves(ctx)
	if err != nil {
		return err
	}
	if row == nil {
		return s.fault(errOpened)
	}
	mine, _ := unmark(token)
	theirs, _ := unmark(row.Token)
	switch {
	case theirs != mine:
		return s.fault(fmt.Errorf("%w, which began during this one", ErrElsewhere))
	case row.Direction != direction:
		return ErrSame // both names lead to one database
	}
	return nil
}

// mark replaces the row with a token by another one, and runs fn in the same transaction. It returns zero rows, and has changed nothing,
// if the row does not exist any more.
func (s Side) mark(
	ctx context.Context, token string, row db.CloseQueueParams, also func(context.Context, db.Querier) error,
) (n int64, err error) {
	row.Now = s.Store.Now().UnixMicro()
	err = s.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		if n, err = q.OpenQueue(ctx, token); err != nil || n == 0 {
			return err
		}
		closed, err := q.CloseQueue(ctx, row)
		switch {
		case err != nil:
			return err
		case closed == 0:
			return ErrElsewhere
		case also == nil:
			return nil
		}
		return also(ctx, q)
	})
	if err != nil {
		return 0, s.fault(fmt.Errorf("record the progress of the move: %w", err))
	}
	return n, nil
}

// open removes the row with a token. It returns zero rows if there is no such row.
func (s Side) open(ctx context.Context, token string) (n int64, err error) {
	err = s.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		n, err = q.OpenQueue(ctx, token)
		return err
	})
	if err != nil {
		return 0, s.fault(fmt.Errorf("open the queue: %w", err))
	}
	return n, nil
}

// undo opens the source again, also after the end of ctx, and returns the cause.
func (m *mover) undo(ctx context.Context, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	if _, err := m.From.open(ctx, m.token); err != nil {
		return &UnfinishedError{errors.Join(why, err)}
	}
	return why
}

// undoBoth opens the target and then the source again. It opens neither if another call for the same move has begun to add rows.
func (m *mover) undoBoth(ctx context.Context, why error) error {
	undoing, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	_, openErr := m.To.open(undoing, m.token+markPreparing)
	row, err := m.To.moves(undoing)
	switch {
	case err != nil:
		return &UnfinishedError{errors.Join(why, openErr, err)}
	case row != nil && row.Token == m.token && row.Direction == in:
		return m.To.fault(errTwice)
	case row != nil && row.Token == m.token+markPreparing:
		return &UnfinishedError{errors.Join(why, openErr)}
	}
	return m.undo(ctx, why) // this move has not closed the target; the role may lack the right
}
