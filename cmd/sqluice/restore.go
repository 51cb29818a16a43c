package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

const restoreHelp = `restore puts FILE, which "sqluice backup" wrote, into the place of the database. It checks FILE, and refuses while a worker
lives or any process has the database open. The database that was there is kept beside it, under a name that restore prints.

What was enqueued after the backup is in the kept file only. Jobs that ended since then run again, and jobs that were running are
rescued by the next worker.

It is for SQLite: PostgreSQL has pg_restore.`

func (a *app) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "restore FILE",
		Short:   "Put a backup into the place of the SQLite file",
		Long:    restoreHelp,
		GroupID: groupDatabase,
		Args:    argCount(1, 1, "FILE"),
		RunE: a.do(func(ctx context.Context, args []string) error {
			if !address.IsPath(args[0]) {
				return usagef("FILE %q must be the path of a file", shown(args[0]))
			}
			d, err := a.database()
			if err != nil {
				return err
			}
			if d.Postgres() {
				return usagef("restore is for SQLite: use pg_restore")
			}
			kept, err := sqlite.Restore(ctx, args[0], d.Path)
			if err != nil {
				return err
			}
			a.print("restored %s from %s", printable(d.Path), printable(args[0]))
			if kept != "" {
				a.print("the database before is %s", printable(kept))
			}
			return nil
		}),
	}
}
