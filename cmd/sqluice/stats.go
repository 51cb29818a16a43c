package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/cmd/sqluice/internal/human"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) statsCommand() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Count the jobs by status, and show jobs without a worker",
		GroupID: groupRun,
		Args:    noArgs(),
		RunE:    a.onClient(func(ctx context.Context, c *jobs.Client, _ []string) error { return a.stats(ctx, c, asJSON, all) }),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.Flags().BoolVar(&all, "all", false, "show all queues and kinds without a worker, not only those with the most jobs")
	return cmd
}

func (a *app) stats(ctx context.Context, c *jobs.Client, asJSON, all bool) error {
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
	t.row("oldest pending", human.Age(now, stats.OldestPending))
	if !stats.OldestPaused.IsZero() {
		t.row("oldest paused", human.Age(now, stats.OldestPaused))
	}
	t.row("next scheduled", human.Age(now, stats.NextDue))
	if err := t.close(); err != nil {
		return err
	}
	// Sorted by the number of jobs, so that the most important ones come first.
	slices.SortStableFunc(stats.Unhandled, func(a, b inspect.UnhandledWork) int { return cmp.Compare(b.Jobs, a.Jobs) })
	list := stats.Unhandled
	if !all {
		list = list[:min(len(list), maxUnhandled)]
	}
	for _, u := range list {
		a.print("no worker for %s", printable(fmt.Sprintf("kind %s in queue %s: %d pending", u.Kind, u.Queue, u.Jobs)))
	}
	if rest := stats.Unhandled[len(list):]; len(rest) > 0 {
		var sum int64
		for _, u := range rest {
			sum += u.Jobs
		}
		a.print("and for %d more kinds and queues: %d pending (--all shows them)", len(rest), sum)
	}
	for _, u := range stats.UnknownVersions {
		a.print("%s", printable(fmt.Sprintf("no worker knows version %d of the payloads of kind %s: the newest that one knows is %d", u.Version, u.Kind, u.Newest)))
	}
	return nil
}

// maxUnhandled is the maximum number of kinds and queues without a worker that stats shows.
const maxUnhandled = 20
