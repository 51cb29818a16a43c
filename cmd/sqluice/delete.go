package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
)

// finalStatuses returns the statuses of jobs that ended.
func finalStatuses() []jobs.Status {
	var final []jobs.Status
	for _, s := range jobs.Statuses() {
		if s.Final() {
			final = append(final, s)
		}
	}
	return final
}

func (a *app) deleteCommand() *cobra.Command {
	var status string
	var olderThan time.Duration
	cmd := &cobra.Command{
		Use:   "delete ID... | delete --status STATUS --older-than DURATION",
		Short: "Delete jobs that are not running",
		Long: "delete deletes jobs with their errors: those with the IDs, or all that ended with --status longer ago than\n" +
			"--older-than. A running job must be cancelled first. If it cannot delete some of several jobs, it deletes the\n" +
			"others, says why not for each, and exits with 1.",
		GroupID: groupJobs,
	}
	flags := cmd.Flags()
	flags.Var(statusValue(&status, finalStatuses()), "status", "delete all jobs that ended with this status")
	flags.Var(&durationValue{value: &olderThan}, "older-than", "with --status: only jobs that ended longer ago than this")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		byStatus, byAge := flags.Changed("status"), flags.Changed("older-than")
		switch {
		case byStatus != byAge:
			return usagef("--status and --older-than need each other")
		case byStatus && len(args) > 0:
			return usagef("give either IDs or --status and --older-than, not both")
		case !byStatus && len(args) == 0:
			return usagef("give IDs, or --status and --older-than")
		}
		return nil
	}
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		if len(args) == 0 {
			return a.withClient(ctx, func(c *jobs.Client) error { return a.pruneStatus(ctx, c, jobs.Status(status), olderThan) })
		}
		return a.onEachJob(ctx, args, func(ctx context.Context, c *jobs.Client, id int64) error {
			if err := c.Delete(ctx, id); err != nil {
				return err
			}
			a.print("job %d: deleted", id)
			return nil
		})
	})
	return cmd
}
