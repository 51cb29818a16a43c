package lifecycle

import (
	"context"
	"fmt"
	"strings"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Change runs fn in a transaction of the scope. The error is [jobtype.ErrMoved], and nothing is changed, when a move has
// closed the queue. CheckOpen runs last, because fn's statements take the locks that a move waits for.
func Change(ctx context.Context, s *engine.Scope, signals core.Signal, fn engine.Func) error {
	return ChangeQueue(ctx, s, signals, "", fn)
}

// ChangeQueue is Change for a function that changes one queue, or all when queue is empty.
func ChangeQueue(ctx context.Context, s *engine.Scope, signals core.Signal, queue string, fn engine.Func) error {
	return s.WriteQueue(ctx, signals, queue, func(ctx context.Context, q db.Querier) error {
		if err := fn(ctx, q); err != nil {
			return err
		}
		return CheckOpen(ctx, q)
	})
}

// CheckOpen returns an error that is [jobtype.ErrMoved] and names the other database, when a move has closed the queue.
func CheckOpen(ctx context.Context, q db.Querier) error {
	moves, err := q.ListMoves(ctx)
	if err != nil || len(moves) == 0 {
		return err
	}
	m := moves[0]
	since := core.Time(m.StartedAt).UTC().Format("2006-01-02 15:04:05 UTC")
	_, ended, _ := strings.Cut(m.Token, " ") // `sqluice copy` adds a second word when it has copied everything
	switch {
	case m.Direction == "out" && ended != "":
		return fmt.Errorf("%w: since %s it is in %s", jobtype.ErrMoved, since, m.Peer)
	case m.Direction == "out":
		return fmt.Errorf("%w to %s, begun %s, that is not complete: run `sqluice copy` again, or `sqluice reopen`", jobtype.ErrMoved, m.Peer, since)
	default:
		return fmt.Errorf("%w from %s, begun %s, that is not complete: run `sqluice copy` again", jobtype.ErrMoved, m.Peer, since)
	}
}
