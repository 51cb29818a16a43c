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
			"workers can run at the same time. Kinds that are paused in a queue follow.",
		GroupID: groupRun,
		Args:    takesCommand(),
		RunE: a.do(func(ctx context.Context, _ []string) error {
			return a.withClient(ctx, func(c *jobs.Client) error { return a.queues(ctx, c, asJSON) })
		}),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.AddCommand(a.queuePauseCommand(), a.queueResumeCommand())
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
			state = "paused " + pauseOf(now, q.PausedAt, q.PausedUntil, q.PausedBy)
		case q.Slots == 0:
			state = "no worker"
		}
		t.row(q.Name, strconv.FormatInt(q.Scheduled, 10), strconv.FormatInt(q.Pending, 10),
			strconv.FormatInt(q.Running, 10), strconv.Itoa(q.Slots), state)
	}
	if err := t.end(); err != nil {
		return err
	}
	return a.pausedKinds(queues, now)
}

// pausedKinds prints the kinds that are paused, if there are any.
func (a *app) pausedKinds(queues []inspect.QueueInfo, now time.Time) error {
	t := newTable(a.out, "PAUSED KIND", "QUEUE", "SINCE")
	for _, q := range queues {
		for _, k := range q.PausedKinds {
			t.row(k.Kind, q.Name, pauseOf(now, k.At, k.Until, k.By))
		}
	}
	if len(t.rows) == 1 {
		return nil
	}
	a.print("")
	return t.end()
}

// pauseOf says since when something is paused, until when, and by whom.
func pauseOf(now, at, until time.Time, by string) string {
	text := age(now, at)
	if !until.IsZero() {
		text += ", ends " + age(now, until)
	}
	if by != "" {
		text += ", by " + by
	}
	return text
}

func (a *app) queuePauseCommand() *cobra.Command {
	var f time.Duration
	cmd := a.queueSwitch("pause", "Stop workers from claiming jobs of a queue; running jobs continue", "paused",
		func(ctx context.Context, c *jobs.Client, queue, kind string) (bool, error) {
			if kind != "" {
				return c.PauseKind(ctx, queue, kind, jobs.PauseFor(f))
			}
			return c.PauseQueue(ctx, queue, jobs.PauseFor(f))
		})
	cmd.Flags().Var(&durationValue{value: &f, least: time.Second}, "for", "resume it after this time")
	return cmd
}

func (a *app) queueResumeCommand() *cobra.Command {
	return a.queueSwitch("resume", "Let workers claim jobs of a paused queue again", "resumed",
		func(ctx context.Context, c *jobs.Client, queue, kind string) (bool, error) {
			if kind != "" {
				return c.ResumeKind(ctx, queue, kind)
			}
			return c.ResumeQueue(ctx, queue)
		})
}

// queueSwitch is the pause or the resume command. Repeating it is not an error.
func (a *app) queueSwitch(
	name, short, done string, set func(ctx context.Context, c *jobs.Client, queue, kind string) (changed bool, err error),
) *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use:   name + " NAME",
		Short: short,
		Args:  takes(1, 1, "NAME"),

		ValidArgsFunction: a.completesFirst(queueNames),
		RunE: a.do(func(ctx context.Context, args []string) error {
			return a.withClient(ctx, func(c *jobs.Client) error {
				changed, err := set(ctx, c, args[0], kind)
				if err != nil {
					return nameFlags(err, map[string]string{"queue": "NAME"})
				}
				if !changed {
					done = "no change"
				}
				of := "queue " + printable(args[0], oneLine)
				if kind != "" {
					of = "kind " + printable(kind, oneLine) + " of " + of
				}
				a.print("%s: %s", of, done)
				return nil
			})
		}),
	}
	cmd.Flags().Var(&nameValue{&kind}, "kind", "only the jobs of the kind `NAME`")
	return cmd
}
