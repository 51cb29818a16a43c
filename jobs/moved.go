package jobs

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
)

// checkOpen returns an error that is [ErrMoved] when the queue is closed by a move.
func (c *Client) checkOpen(ctx context.Context) error { return c.read(ctx, openQueue) }

// change is write for what people do to jobs and queues: an error that is [ErrMoved] when the queue is closed by a move,
// which would not notice. The look comes last, because the statements take the locks that a move waits for.
func (c *Client) change(ctx context.Context, signals Signal, fn func(context.Context, db.Querier) error) error {
	return c.write(ctx, signals, func(ctx context.Context, q db.Querier) error {
		if err := fn(ctx, q); err != nil {
			return err
		}
		return openQueue(ctx, q)
	})
}

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
