package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) recountCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "recount",
		Short: "Correct the counts of jobs, and the lanes of limits",
		Long: "recount reads all jobs and corrects the stored counts of done, failed and cancelled jobs. It is needed only after\n" +
			"SQL of another program has ended or added such jobs. Everything runs meanwhile: it reads a snapshot, and then writes the\n" +
			"differences in a brief transaction. While it reads, SQLite's WAL and PostgreSQL's dead rows grow with what others write.\n\n" +
			"Then it reads the lanes, in which jobs with limit keys wait, and mends what such SQL left wrong. Workers do the same,\n" +
			"within a second or a minute. It prints the number of lanes that jobs lacked, that are ready now because their limits have\n" +
			"room, and that are gone because no job waited in them.",
		GroupID: groupJobs,
		Args:    noArgs(),
		RunE: a.onClient(func(ctx context.Context, c *jobs.Client, _ []string) error {
			in := inspect.New(c)
			wrong, err := in.Recount(ctx)
			if err != nil {
				return err
			}
			a.print("corrected counts: %d", wrong)
			lanes, err := in.RecountLanes(ctx)
			if err == nil {
				a.print("lanes: %d added, %d made ready, %d removed", lanes.Added, lanes.Opened, lanes.Removed)
			}
			return err
		}),
	}
}
