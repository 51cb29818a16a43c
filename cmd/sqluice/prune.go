package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
)

func (a *app) pruneCommand() *cobra.Command {
	var status string
	var olderThan time.Duration
	cmd := &cobra.Command{
		Use:   "prune --older-than DURATION",
		Short: "Remove jobs that ended long ago",
		Long: "prune removes jobs that ended longer ago than a time: the done and cancelled ones, or with --status those of\n" +
			"that status. Failed jobs wait for people, so they go only with --status failed. Workers prune by themselves\n" +
			"what is done or cancelled for more than a day.",
		GroupID: groupJobs,
	}
	flags := cmd.Flags()
	flags.Var(statusValue(&status, finalStatuses()), "status", "only jobs that ended with this status")
	flags.Var(&durationValue{value: &olderThan}, "older-than", "only jobs that ended longer ago than this (needed)")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if !flags.Changed("older-than") {
			return usagef("--older-than is missing")
		}
		return takesNothing()(cmd, args)
	}
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		which := []jobs.Status{jobs.StatusDone, jobs.StatusCancelled}
		if status != "" {
			which = []jobs.Status{jobs.Status(status)}
		}
		return a.withClient(ctx, func(c *jobs.Client) error {
			for _, s := range which {
				if err := a.pruneStatus(ctx, c, s, olderThan); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return cmd
}

// pruneStatus also prints how many went when it stopped half-way.
func (a *app) pruneStatus(ctx context.Context, c *jobs.Client, s jobs.Status, olderThan time.Duration) error {
	n, err := c.Prune(ctx, s, olderThan)
	if err == nil || n > 0 {
		a.print("%d %s jobs: deleted", n, s)
	}
	return err
}
