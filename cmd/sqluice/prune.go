package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) pruneCommand() *cobra.Command {
	var status string
	var olderThan time.Duration
	cmd := &cobra.Command{
		Use:   "prune --older-than DURATION",
		Short: "Delete jobs that ended long ago",
		Long: "prune deletes jobs that ended longer ago than a time: done and cancelled jobs, or with --status those of that\n" +
			"status. It deletes failed jobs only with --status failed. Workers prune jobs by themselves: see retention.\n" +
			"This command goes by its flags alone, also for jobs that a rule of retention keeps.",
		GroupID: groupJobs,
	}
	flags := cmd.Flags()
	flags.Var(statusValue(&status, finalStatuses()), "status", "only jobs that ended with this status")
	flags.Var(&durationValue{value: &olderThan}, "older-than", "only jobs that ended longer ago than this (required)")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if !flags.Changed("older-than") {
			return usagef("--older-than is missing")
		}
		return noArgs()(cmd, args)
	}
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		which := []jobs.Status{jobs.StatusDone, jobs.StatusCancelled}
		if status != "" {
			which = []jobs.Status{jobs.Status(status)}
		}
		return a.withClient(ctx, func(c *jobs.Client) error {
			var refused error
			for _, s := range which {
				err := a.pruneStatus(ctx, c, s, olderThan)
				if errors.As(err, new(*jobs.RefusedError)) {
					refused, err = errors.Join(refused, err), nil // a refused job does not stop the others
				}
				if err != nil {
					return err
				}
			}
			return refused
		})
	})
	return cmd
}

// pruneStatus deletes the old jobs with a status and prints their number, also if it stops early.
func (a *app) pruneStatus(ctx context.Context, c *jobs.Client, s jobs.Status, olderThan time.Duration) error {
	n, err := inspect.New(c).Prune(ctx, s, olderThan)
	if err == nil || n > 0 {
		a.print("%d %s jobs: deleted", n, s)
	}
	return err
}
