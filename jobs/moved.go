package jobs

import (
	"context"
	"fmt"
	"strings"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// CheckOpen returns an error that is [ErrMoved], and says where to, when the queue is closed by a move.
func (c *Client) CheckOpen(ctx context.Context) error { return c.read(ctx, openQueue) }

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
	m := moves[0]
	since := core.Time(m.StartedAt).UTC().Format("2006-01-02 15:04:05 UTC")
	_, ended, _ := strings.Cut(m.Token, " ") // what `sqluice copy` adds when all is there
	switch {
	case m.Direction == "out" && ended != "":
		return fmt.Errorf("%w: since %s it is in %s", ErrMoved, since, m.Peer)
	case m.Direction == "out":
		return fmt.Errorf("%w to %s, begun %s, that is not complete: run `sqluice copy` again, or `sqluice reopen`", ErrMoved, m.Peer, since)
	default:
		return fmt.Errorf("%w from %s, begun %s, that is not complete: run `sqluice copy` again", ErrMoved, m.Peer, since)
	}
}
