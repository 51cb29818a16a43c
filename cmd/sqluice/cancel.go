package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
)

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID...",
		Short: "Cancel jobs that have not ended",
		Long: "cancel cancels waiting jobs, and asks the worker of a running job to stop it, which takes about a second.\n" +
			"If it cannot cancel some of several jobs, it cancels the others, says why not for each, and exits with 1.",
		GroupID: groupJobs,
		Args:    argCount(1, maxIDs, "ID"),
		RunE: a.do(func(ctx context.Context, args []string) error {
			return a.onEachJob(ctx, args, func(ctx context.Context, c *jobs.Client, id int64) error {
				status, err := c.Cancel(ctx, id)
				if err != nil {
					return err
				}
				if status == jobs.StatusRunning {
					a.print("job %d: running, its worker was asked to stop it", id)
				} else {
					a.print("job %d: %s", id, status)
				}
				return nil
			})
		}),
	}
}
