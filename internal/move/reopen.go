package move

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// ErrPart is returned by Reopen for the target of a move that has some or all of the source's rows.
var ErrPart = errors.New("it holds what an unfinished move has copied")

// Reopened describes the move that had closed the queue.
type Reopened struct {
	Closed bool   // it was closed
	In     bool   // as the target of a move that had copied nothing yet
	Ended  bool   // as the source of a move that had ended, so that its jobs are at the peer too
	Peer   string // the other side
}

// Reopen opens a queue that a move closed. It gives the move up: a move that continues finds it opened, and ends with
// an error. It refuses a target with rows: its jobs are the source's, and some may be missing.
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
			done = Reopened{Closed: true, In: row.Direction == in, Ended: mark != "", Peer: row.Peer}
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
