package jobs

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
)

// checkOpen returns an error that is [ErrMoved] when the queue is closed by a move.
func (c *Client) checkOpen(ctx context.Context) error { return c.read(ctx, openQueue) }

func openQueue(ctx context.Context, q db.Querier) error {
	moves, err := q.ListMoves(ctx)
	if err != nil || len(moves) == 0 {
		return err
	}
	if moves[0].Direction == "out" {
		return fmt.Errorf("%w: since %s it is in %s", ErrMoved, fromMicros(moves[0].StartedAt).UTC().Format("2006-01-02 15:04:05 UTC"), moves[0].Peer)
	}
	return fmt.Errorf("%w: that from %s is not complete: run `sqluice copy` again", ErrMoved, moves[0].Peer)
}
