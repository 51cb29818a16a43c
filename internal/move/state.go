package move

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// The directions of a row in moves.
const (
	out = "out" // the side is the source
	in  = "in"  // the side is the target
)

// The marks at the end of a side's token. During the copy both sides have none.
const (
	markPreparing = " preparing" // the target: it may hold rows that the source lacks
	markMoved     = " moved"     // the source: the move has ended
	markCopied    = " copied"    // the source: the move has ended, and the source must be opened again
)

// unmark splits a token from its mark.
func unmark(text string) (token, mark string) {
	for _, mark := range []string{markPreparing, markMoved, markCopied} {
		if token, ok := strings.CutSuffix(text, mark); ok {
			return token, mark
		}
	}
	return text, ""
}

// step is the next step of a move.
type step int

const (
	stepCloseSource step = iota
	stepCloseTarget
	stepFill
	stepEnded
)

// state combines the rows of the source's and the target's table moves.
type state struct {
	step  step
	token string
	mark  string
	since int64 // the time at which the source was closed or marked
}

// readState returns the state of a move.
func (m *mover) readState(ctx context.Context) (state, error) {
	if m.From.Name == m.To.Name {
		return state{}, ErrSame
	}
	from, err := m.From.moves(ctx)
	if err != nil {
		return state{}, err
	}
	to, err := m.To.moves(ctx)
	if err != nil {
		return state{}, err
	}
	s, err := nextStep(m.From, m.To, from, to)
	if err != nil {
		return state{}, err
	}
	m.token, m.mark = s.token, s.mark
	return s, nil
}

// nextStep returns the next step, or an error if the move cannot continue.
func nextStep(fromSide, toSide Side, from, to *db.Move) (state, error) {
	switch {
	case from == nil && to == nil:
		return state{step: stepCloseSource}, nil
	case from == nil:
		_, mark := unmark(to.Token)
		return state{}, toSide.otherMoveError(to, to.Direction == out && mark != "" && to.Peer == fromSide.Name)
	case from.Direction == in:
		return state{}, fromSide.otherMoveError(from, false)
	}
	token, mark := unmark(from.Token)
	s := state{token: token, mark: mark, since: from.StartedAt}
	switch {
	case to == nil && from.Peer != toSide.Name:
		return state{}, fromSide.otherMoveError(from, false)
	case to == nil && mark != "":
		s.step = stepEnded
	case to == nil, to.Direction == in && to.Token == token+markPreparing:
		s.step = stepCloseTarget
	case to.Direction == in && to.Token == token:
		s.step = stepFill
	case to.Direction == out && to.Token == from.Token:
		return state{}, fmt.Errorf("%w, which is closed: reopen it", ErrSame)
	default:
		return state{}, toSide.otherMoveError(to, false)
	}
	return s, nil
}

// otherMoveError returns an [ElsewhereError] for a side and the row that closes it.
func (s Side) otherMoveError(row *db.Move, reverse bool) error {
	return &ElsewhereError{Name: s.Name, IsTarget: row.Direction == in, IsReverse: reverse, err: s.fault(otherMoveError(row))}
}

// otherMoveError returns ErrElsewhere with the other move's direction and peer, from the row.
func otherMoveError(row *db.Move) error {
	date := time.UnixMicro(row.StartedAt).UTC().Format("2006-01-02 15:04:05 UTC")
	_, mark := unmark(row.Token)
	switch {
	case row.Direction == in:
		return fmt.Errorf("%w: the move from %s, begun %s, is not complete", ErrElsewhere, row.Peer, date)
	case mark == "":
		return fmt.Errorf("%w: the move to %s, begun %s, is not complete", ErrElsewhere, row.Peer, date)
	default:
		return fmt.Errorf("%w: it was moved to %s on %s", ErrElsewhere, row.Peer, date)
	}
}

// moves returns the row that closes a side, or nil.
func (s Side) moves(ctx context.Context) (*db.Move, error) {
	rows, err := core.Value(ctx, s.Store.Read, func(ctx context.Context, q db.Querier) ([]db.Move, error) {
		return q.ListMoves(ctx)
	})
	switch {
	case err != nil:
		return nil, s.fault(fmt.Errorf("read the move that closes the queue: %w", err))
	case len(rows) == 0:
		return nil, nil
	case len(rows) > 1:
		return nil, s.fault(errors.Join(otherMoveError(&rows[0]), otherMoveError(&rows[1])))
	}
	return &rows[0], nil
}
