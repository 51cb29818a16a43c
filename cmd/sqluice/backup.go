package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/jobs"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the SQLite file while everything runs",
		Long: "backup writes a consistent copy of one moment to FILE, which must not exist yet. Workers and callers continue\n" +
			"meanwhile. It removes an incomplete copy.\n\n" +
			"It is for SQLite: PostgreSQL has pg_dump, and `sqluice copy` moves a queue between the engines.",
		GroupID: groupDatabase,
		Args:    argCount(1, 1, "FILE"),
		RunE: a.do(func(ctx context.Context, args []string) error {
			if !address.IsPath(args[0]) {
				return usagef("FILE %q must be the path of a file", shown(args[0]))
			}
			return a.withClient(ctx, func(c *jobs.Client) error { return a.backup(ctx, c, args[0]) })
		}),
	}
}

// backup writes the copy and prints its size.
func (a *app) backup(ctx context.Context, c *jobs.Client, path string) error {
	if err := c.Backup(ctx, path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	a.print("%s: %d bytes", printable(path), info.Size())
	return nil
}
