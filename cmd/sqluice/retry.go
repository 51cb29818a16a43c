package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) retryCommand() *cobra.Command {
	var failed bool
	var kind string
	var within time.Duration
	cmd := &cobra.Command{
		Use:   "retry ID... | retry --failed",
		Short: "Make failed, cancelled or scheduled jobs due now",
		Long: "retry makes jobs due now, with the full number of attempts: those with the IDs, or with --failed all failed jobs.\n" +
			"If it cannot retry some of several jobs, it retries the others, says why not for each, and exits with 1.\n" +
			"With --failed, it skips jobs whose unique key another live job holds.",
		GroupID: groupJobs,
	}
	flags := cmd.Flags()
	flags.BoolVar(&failed, "failed", false, "retry all failed jobs")
	flags.Var(&nameValue{&kind}, "kind", "with --failed: only jobs of this `KIND`")
	flags.Var(&durationValue{value: &within}, "since", "with --failed: only jobs that failed within this time")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case failed && len(args) > 0:
			return usagef("give either IDs or --failed, not %q and --failed", shown(args[0]))
		case !failed && len(args) == 0:
			return usagef("give IDs, or --failed to retry all failed jobs")
		case !failed && (flags.Changed("kind") || flags.Changed("since")):
			return usagef("--kind and --since need --failed")
		}
		return nil
	}
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		if !failed {
			return a.onEachJob(ctx, args, func(ctx context.Context, c *jobs.Client, id int64) error {
				if err := c.Retry(ctx, id); err != nil {
					return err
				}
				a.print("job %d: pending", id)
				return nil
			})
		}
		return a.withClient(ctx, func(c *jobs.Client) error {
			f := inspect.FailedFilter{Kind: kind}
			if flags.Changed("since") {
				f.Since = inspect.New(c).Now().Add(-within)
			}
			return a.retryFailed(ctx, c, f)
		})
	})
	return cmd
}

// retryFailed makes the failed jobs of a filter pending and prints their number.
func (a *app) retryFailed(ctx context.Context, c *jobs.Client, f inspect.FailedFilter) error {
	n, err := inspect.New(c).RetryFailed(ctx, f)
	if err == nil || n > 0 {
		a.print("made pending: %d", n)
	}
	if err == nil && n == 0 {
		_, err = a.unknownNames(ctx, c, f.Kind, "")
	}
	return err
}
