package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/internal/move"
	"github.com/sqluice/sqluice/jobs"
)

const reopenHelp = `reopen opens a queue that "sqluice copy" has closed, so that jobs can be added and workers start again.

The source of a move that has ended has all its jobs still, as they were when they were moved. Those that waited then
run here too once a worker starts, although they may have run at the other side: reopen it to go back, and only if the
other side is given up.

A target that holds a part of the source's jobs is not opened: run "sqluice copy" again, or delete it. It has nothing
that the source has not, and to delete a file or a schema is safer than to take rows out of one.`

func (a *app) reopenCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "reopen",
		Short:   "Open a queue that copy has closed",
		Long:    reopenHelp,
		GroupID: groupDatabase,
		Args:    takesNothing(),
		RunE: a.do(func(ctx context.Context, _ []string) error {
			return a.withClient(ctx, func(c *jobs.Client) error { return a.reopen(ctx, c) })
		}),
	}
}

func (a *app) reopen(ctx context.Context, c *jobs.Client) error {
	if err := c.CheckSchema(ctx); err != nil {
		return err
	}
	done, err := move.Reopen(ctx, c.Store())
	if errors.Is(err, move.ErrPart) {
		return fmt.Errorf("%w: run `sqluice copy` again to complete it, or delete this database, whose rows are all there still", err)
	}
	if err != nil {
		return fmt.Errorf("reopen: %w", err)
	}
	peer := printable(done.Peer, oneLine)
	switch {
	case !done.Closed:
		a.print("nothing to do: the queue is open")
	case done.In:
		a.print("opened: nothing had been moved here from %s", peer)
	case done.Ended:
		a.print("opened; %s has the same jobs as of the move: do not let both run them", peer)
	default:
		a.print("opened: the move to %s is given up; delete what it has copied there", peer)
	}
	return nil
}
