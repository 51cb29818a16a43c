package move

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// ErrPart is the error of Reopen for the target of a move that has rows of the source.
var ErrPart = errors.New("the queue holds rows that an unfinished move has copied")

// Reopened describes the move that had closed the queue.
type Reopened struct {
	WasClosed bool   // the queue was closed
	WasTarget bool   // it was the target of a move that had copied nothing
	MoveEnded bool   // it was the source of a move that had ended: the peer has its jobs too
	Peer      string // the other side
}

// Reopen opens a queue that a move has closed, and gives up the move: a running move ends with an error. It returns ErrPart for a target
// with rows, because its jobs are those of the source, and some may be missing.
func Reopen(ctx context.Context, store engine.Store) (Reopened, error) {
	var done Reopened
	err := store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		done = Reopened{}
		rows, err := q.ListMoves(ctx)
		if err != nil {
			return err
		}
		for _, row := range rows {
			_, mark := unmark(row.Token)
			if row.Direction == in && mark != markPreparing {
				if err := checkNothingCopied(ctx, q, row); err != nil {
					return err
				}
			}
			done = Reopened{WasClosed: true, WasTarget: row.Direction == in, MoveEnded: mark != "", Peer: row.Peer}
			if _, err := q.OpenQueue(ctx, row.Token); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

func checkNothingCopied(ctx context.Context, q db.Querier, row db.Move) error {
	rows, err := filled(ctx, q, allTables())
	if err == nil && len(rows) > 0 {
		err = fmt.Errorf("%w from %s: %s", ErrPart, row.Peer, strings.Join(rows, ", "))
	}
	return err
}
