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
		Long: "down undoes the last migration, one at a time, and prints its name. What only the newer version could hold is\n" +
			"lost; undoing the first one drops the tables with all jobs, and needs --all. A queue that a move has closed stays at\n" +
			"the version that knows of that until it is opened again. Stop the workers first: they refuse another version of the\n" +
			"schema. Nothing else of the database is touched.",
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
				if all && version > 1 {
					a.print("the schema is version %d now: --all allows to undo the first migration, and does not undo more than one", version-1)
				}
				return nil
			})
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "allow to undo the first migration, which drops the tables with all jobs")
	return cmd
}
