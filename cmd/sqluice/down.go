package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
)

func (a *app) downCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Take the schema one version back",
		Long: "down undoes the last migration and prints its name. What only the newer version could hold is lost; undoing\n" +
			"the first one drops the tables with all jobs, and needs --all. Stop the workers first: they refuse another version\n" +
			"of the schema. Nothing else of the database is touched.",
		GroupID: groupDatabase,
		Args:    takesNothing(),
		RunE: a.do(func(ctx context.Context, _ []string) error {
			return a.withClient(ctx, func(c *jobs.Client) error {
				version, _, err := c.Store().SchemaVersion(ctx)
				if err != nil {
					return fmt.Errorf("read the schema's version: %w", err)
				}
				if version == 1 && !all {
					return usagef("--all is missing: undoing the first migration drops the tables with all jobs")
				}
				name, err := c.Store().MigrateDown(ctx)
				if err != nil {
					return fmt.Errorf("migrate down: %w", err)
				}
				if name == "" {
					a.print("nothing to do: the database has no sqluice schema")
					return nil
				}
				a.print("down %s", name)
				return nil
			})
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "also undo the first migration, and so drop all jobs")
	return cmd
}
