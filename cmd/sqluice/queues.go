package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) queuesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "queues",
		Short: "List the queues; pause and resume them",
		Long: "queues lists the queues that hold unfinished jobs, are paused or have a worker. SLOTS is how many jobs the live\n" +
			"workers can run at the same time.",
		GroupID: groupRun,
		Args:    takesCommand(),
		RunE: a.do(func(ctx context.Context, _ []string) error {
			return a.withClient(ctx, func(c *jobs.Client) error { return a.queues(ctx, c, asJSON) })
		}),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.AddCommand(
		a.queuePauseCommand(),
		a.queueSwitch("resume", "Let workers claim jobs of a paused queue again", "resumed", (*jobs.Client).ResumeQueue),
	)
	return cmd
}

func (a *app) queues(ctx context.Context, c *jobs.Client, asJSON bool) error {
	queues, err := inspect.New(c).Queues(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(queues)
	}
	now := inspect.New(c).Now()
	t := newTable(a.out, "QUEUE", "SCHEDULED", "PENDING", "RUNNING", "SLOTS", "STATE")
	for _, q := range queues {
		state := "active"
		switch {
		case !q.PausedAt.IsZero():
			state = "paused " + age(now, q.PausedAt)
			if !q.PausedUntil.IsZero() {
				state += ", ends " + age(now, q.PausedUntil)
			}
		case q.Slots == 0:
			state = "no worker"
		}
		t.row(q.Name, strconv.FormatInt(q.Scheduled, 10), strconv.FormatInt(q.Pending, 10),
			strconv.FormatInt(q.Running, 10), strconv.Itoa(q.Slots), state)
	}
	return t.end()
}

func (a *app) queuePauseCommand() *cobra.Command {
	var f time.Duration
	cmd := a.queueSwitch("pause", "Stop workers from claiming jobs of a queue; running jobs continue", "paused",
		func(c *jobs.Client, ctx context.Context, name string) (bool, error) {
			return c.PauseQueue(ctx, name, jobs.PauseFor(f))
		})
	cmd.Flags().Var(&durationValue{value: &f, least: time.Second}, "for", "resume it after this time")
	return cmd
}

// queueSwitch is the pause or the resume command. Repeating it is not an error.
func (a *app) queueSwitch(name, short, done string, set func(*jobs.Client, context.Context, string) (bool, error)) *cobra.Command {
	return &cobra.Command{
		Use:   name + " NAME",
		Short: short,
		Args:  takes(1, 1, "NAME"),
		RunE: a.do(func(ctx context.Context, args []string) error {
			return a.withClient(ctx, func(c *jobs.Client) error {
				changed, err := set(c, ctx, args[0])
				if err != nil {
					return nameFlags(err, map[string]string{"queue": "NAME"})
				}
				if !changed {
					done = "no change"
				}
				a.print("queue %s: %s", printable(args[0], oneLine), done)
				return nil
			})
		}),
	}
}
