package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

func (a *app) downCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Undo the last migration",
		Long: "down undoes the last migration and prints its name. Data that only the newer version can hold is lost. Undoing the\n" +
			"first migration drops the tables with all jobs, and needs --all. A queue that a move has closed must be reopened\n" +
			"before the migration that added moves can be undone. Stop the workers first: they refuse another version of the\n" +
			"schema. down does not touch other tables.",
		GroupID: groupDatabase,
		Args:    noArgs(),
		RunE: a.onClient(func(ctx context.Context, c *jobs.Client, _ []string) error {
			found, err := engine.StoreOf(c.Store()).Migrations().Schema(ctx)
			if err != nil {
				return fmt.Errorf("read the schema's version: %w", err)
			}
			if found.Have == 1 && !all {
				return usagef("--all is missing: undoing the first migration drops the tables with all jobs")
			}
			name, err := engine.StoreOf(c.Store()).Migrations().MigrateDown(ctx)
			if err != nil {
				return fmt.Errorf("migrate down: %w", err)
			}
			if name == "" {
				a.print("nothing to do: the database has no sqluice schema")
				return nil
			}
			a.print("down %s", name)
			if all && found.Have > 1 {
				a.print("the schema is version %d now: --all allows to undo the first migration, and does not undo more than one", found.Have-1)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "also undo the first migration, which drops the tables with all jobs")
	return cmd
}
