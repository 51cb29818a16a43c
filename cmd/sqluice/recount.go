package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
)

func (a *app) recountCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "recount",
		Short: "Count the jobs that ended by reading them all",
		Long: "recount reads all jobs and puts right how many are known to be done, failed and cancelled. It is needed only\n" +
			"after jobs were ended or added by SQL other than sqluice's. On SQLite nobody else can write while it reads.",
		GroupID: groupJobs,
		Args:    takesNothing(),
		RunE: a.do(func(ctx context.Context, _ []string) error {
			return a.withClient(ctx, func(c *jobs.Client) error {
				wrong, err := c.Recount(ctx)
				if err == nil {
					a.print("counts that were wrong: %d", wrong)
				}
				return err
			})
		}),
	}
}
