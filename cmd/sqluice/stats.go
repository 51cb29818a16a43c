package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) statsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Count the jobs by status, and show jobs without a worker",
		GroupID: groupRun,
		Args:    takesNothing(),
		RunE: a.do(func(ctx context.Context, _ []string) error {
			return a.withClient(ctx, func(c *jobs.Client) error { return a.stats(ctx, c, asJSON) })
		}),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func (a *app) stats(ctx context.Context, c *jobs.Client, asJSON bool) error {
	stats, err := inspect.New(c).Stats(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(stats)
	}
	now := inspect.New(c).Now()
	t := newTable(a.out)
	for _, s := range jobs.Statuses() {
		t.row(string(s), strconv.FormatInt(stats.Jobs[s], 10))
	}
	t.row("workers", strconv.Itoa(stats.Workers))
	t.row("oldest pending", age(now, stats.OldestPending))
	t.row("next scheduled", age(now, stats.NextDue))
	if err := t.end(); err != nil {
		return err
	}
	for _, u := range stats.Unhandled {
		a.print("no worker for %s", printable(fmt.Sprintf("kind %s in queue %s: %d pending", u.Kind, u.Queue, u.Jobs), oneLine))
	}
	return nil
}
