package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the SQLite file while everything runs",
		Long: "backup writes a consistent copy of one moment to FILE, which must not exist yet, while workers and enqueuers\n" +
			"go on. A copy that could not be finished is removed.\n\n" +
			"It is for SQLite: PostgreSQL has pg_dump, and `sqluice copy` moves a queue from one to the other.",
		GroupID: groupDatabase,
		Args:    takes(1, 1, "FILE"),
		RunE: a.do(func(ctx context.Context, args []string) error {
			if args[0] == "" || notPath.MatchString(args[0]) {
				return usagef("FILE %q must be the path of a file", shown(args[0]))
			}
			return a.withClient(ctx, func(c *jobs.Client) error { return a.backup(ctx, c, args[0]) })
		}),
	}
}

// backup copies to a name beside the target and then moves that in place, so that the target never holds half a copy.
// A link does not overwrite a file that has appeared meanwhile; where there are no links, renaming has to do.
func (a *app) backup(ctx context.Context, c *jobs.Client, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("back up to %s: %w", path, os.ErrExist)
	}
	partial := fmt.Sprintf("%s.%d.partial", path, os.Getpid())
	err := c.Store().Backup(ctx, partial)
	if err != nil {
		err = fmt.Errorf("back up to %s: %w", path, err)
	} else if err = os.Link(partial, path); err != nil && !errors.Is(err, os.ErrExist) {
		err = os.Rename(partial, path)
	}
	if removeErr := os.Remove(partial); removeErr != nil && !errors.Is(removeErr, os.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	a.print("%s: %d bytes", printable(path, oneLine), info.Size())
	return nil
}
