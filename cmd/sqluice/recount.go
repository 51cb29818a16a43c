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
		Short: "Correct the counts of done, failed and cancelled jobs",
		Long: "recount reads all jobs and corrects the stored counts of done, failed and cancelled jobs. It is needed only after\n" +
			"SQL of another program has ended or added such jobs. Everything runs meanwhile: it reads a snapshot, and then writes the\n" +
			"differences in a brief transaction. While it reads, SQLite's WAL and PostgreSQL's dead rows grow with what others write.",
		GroupID: groupJobs,
		Args:    noArgs(),
		RunE: a.onClient(func(ctx context.Context, c *jobs.Client, _ []string) error {
			wrong, err := inspect.New(c).Recount(ctx)
			if err == nil {
				a.print("corrected counts: %d", wrong)
			}
			return err
		}),
	}
}
