package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/internal/move"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

const reopenHelp = `reopen opens a queue that "sqluice copy" has closed, so that jobs can be enqueued and workers can start again.

The source of a complete move still has all its jobs, as they were when they were moved. Those that waited then run here
too once a worker starts, although they may have run in the target. So reopen the source only to go back, and give up the
target.

reopen refuses a target that has only a part of the source's jobs: run "sqluice copy" again, or delete the target. The
source has all its rows.`

func (a *app) reopenCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "reopen",
		Short:   "Open a queue that copy has closed",
		Long:    reopenHelp,
		GroupID: groupDatabase,
		Args:    noArgs(),
		RunE:    a.onClient(func(ctx context.Context, c *jobs.Client, _ []string) error { return a.reopen(ctx, c) }),
	}
}

func (a *app) reopen(ctx context.Context, c *jobs.Client) error {
	if err := c.CheckSchema(ctx); err != nil {
		return err
	}
	done, err := move.Reopen(ctx, port.StoreOf(c.Store()))
	if errors.Is(err, move.ErrPart) {
		return fmt.Errorf("%w: run `sqluice copy` again to complete it, or delete this database: the source still has all of its rows", err)
	}
	if err != nil {
		return fmt.Errorf("reopen: %w", err)
	}
	peer := printable(done.Peer)
	switch {
	case !done.WasClosed:
		a.print("nothing to do: the queue is open")
	case done.WasTarget:
		a.print("opened: nothing had been moved here from %s", peer)
	case done.MoveEnded:
		a.print("opened; %s has the same jobs as of the move: do not let both run them", peer)
	default:
		a.print("opened: the move to %s is given up; delete what it has copied there", peer)
	}
	return nil
}
