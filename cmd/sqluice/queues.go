package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/cmd/sqluice/internal/human"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) queuesCommand() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "queues",
		Short: "List the queues; pause and resume them",
		Long: fmt.Sprintf("queues lists the queues that hold unfinished jobs, are paused or have a worker. SLOTS is how many jobs the live\n"+
			"workers can run at the same time. Kinds that are paused in a queue follow. Of more than %d queues it shows those\n"+
			"with the most unfinished jobs.", human.MaxRows),
		GroupID: groupRun,
		Args:    takesCommand(),
		RunE:    a.onClient(func(ctx context.Context, c *jobs.Client, _ []string) error { return a.queues(ctx, c, asJSON, all) }),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.Flags().BoolVar(&all, "all", false, "show all queues and paused kinds, however many they are")
	cmd.AddCommand(a.queuePauseCommand(), a.queueResumeCommand())
	return cmd
}

func (a *app) queues(ctx context.Context, c *jobs.Client, asJSON, all bool) error {
	queues, err := inspect.New(c).Queues(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(queues)
	}
	now := inspect.New(c).Now()
	t := newTable(a.out, "QUEUE", "SCHEDULED", "PENDING", "RUNNING", "SLOTS", "STATE")
	most := human.MaxRows
	if all {
		most = len(queues)
	}
	shown, rest := human.Busiest(queues, most, func(q inspect.QueueInfo) int64 { return q.Scheduled + q.Pending + q.Running })
	for _, q := range shown {
		state := "active"
		switch {
		case !q.PausedAt.IsZero():
			state = "paused " + pauseOf(now, inspect.KindPause{At: q.PausedAt, Until: q.PausedUntil, By: q.PausedBy, Reason: q.PauseReason})
		case q.Slots == 0:
			state = "no worker"
		}
		t.row(q.Name, strconv.FormatInt(q.Scheduled, 10), strconv.FormatInt(q.Pending, 10),
			strconv.FormatInt(q.Running, 10), strconv.Itoa(q.Slots), state)
	}
	if err := t.close(); err != nil {
		return err
	}
	if len(rest) > 0 {
		sum := human.Sum(rest)
		a.print("and %d more queues: %d scheduled, %d pending, %d running%s (--all shows them)",
			len(rest), sum.Scheduled, sum.Pending, sum.Running, human.Paused(rest))
	}
	return a.pausedKinds(queues, now, all)
}

// pausedKinds prints the kinds that are paused, if there are any: the first ones, or all.
func (a *app) pausedKinds(queues []inspect.QueueInfo, now time.Time, all bool) error {
	t, rest := newTable(a.out, "PAUSED KIND", "QUEUE", "SINCE"), 0
	for _, q := range queues {
		for _, k := range q.PausedKinds {
			if len(t.rows) > human.MaxRows && !all {
				rest++
				continue
			}
			t.row(k.Kind, q.Name, pauseOf(now, k))
		}
	}
	if len(t.rows) == 1 {
		return nil
	}
	a.print("")
	if err := t.close(); err != nil {
		return err
	}
	if rest > 0 {
		a.print("and %d more paused kinds (--all shows them)", rest)
	}
	return nil
}

// pauseOf returns the start of a pause, and its end, its author and its reason if they are known.
func pauseOf(now time.Time, p inspect.KindPause) string {
	text := human.Age(now, p.At)
	switch {
	case p.Until.IsZero():
	case p.Until.After(now):
		text += ", ends " + human.Age(now, p.Until)
	default: // and no worker has removed it
		text += ", ended " + human.Age(now, p.Until)
	}
	if p.By != "" {
		text += ", by " + p.By
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

func (a *app) queuePauseCommand() *cobra.Command {
	var f time.Duration
	var reason string
	cmd := a.queueSwitch("pause", "Stop workers from claiming jobs of a queue; running jobs continue", true,
		func(ctx context.Context, c *jobs.Client, queue, kind string) (bool, error) {
			if kind != "" {
				return c.PauseKind(ctx, queue, kind, jobs.PauseFor(f), jobs.PauseReason(reason))
			}
			return c.PauseQueue(ctx, queue, jobs.PauseFor(f), jobs.PauseReason(reason))
		})
	cmd.Long = "pause stops workers from claiming jobs of a queue, or of one kind in it; running jobs continue. Of two pauses the\n" +
		"later end holds: to end one earlier, resume the queue first."
	cmd.Flags().StringVar(&reason, "reason", "", "why, for people to see: at most 1000 `CHARACTERS`")
	cmd.Flags().Var(&durationValue{value: &f, least: time.Second}, "for", "resume it after this time")
	return cmd
}

func (a *app) queueResumeCommand() *cobra.Command {
	return a.queueSwitch("resume", "Let workers claim jobs of a paused queue again", false,
		func(ctx context.Context, c *jobs.Client, queue, kind string) (bool, error) {
			if kind != "" {
				return c.ResumeKind(ctx, queue, kind)
			}
			return c.ResumeQueue(ctx, queue)
		})
}

// pausing is the answer to a pause or a resume, with the fields of the API's.
type pausing struct {
	Queue   string `json:"queue"`
	Kind    string `json:"kind,omitempty"` // empty for the whole queue
	Paused  bool   `json:"paused"`
	Changed bool   `json:"changed"` // false if it was in this state before

	Unknown []inspect.UnknownName `json:"unknown,omitempty"` // the queue or the kind, if nothing knew it
}

// String returns the answer for people.
func (p pausing) String() string {
	of, became := "queue "+printable(p.Queue), "resumed"
	if p.Kind != "" {
		of = "kind " + printable(p.Kind) + " of " + of
	}
	switch {
	case !p.Changed && p.Paused:
		became = "no change, as it is paused for at least as long"
	case !p.Changed:
		became = "no change"
	case p.Paused:
		became = "paused"
	}
	return of + ": " + became
}

// queueSwitch is the pause or the resume command. Repeating it is not an error.
func (a *app) queueSwitch(
	name, short string, paused bool, set func(ctx context.Context, c *jobs.Client, queue, kind string) (changed bool, err error),
) *cobra.Command {
	var kind string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   name + " NAME",
		Short: short,
		Args:  argCount(1, 1, "NAME"),

		ValidArgsFunction: a.completesFirst(queueNames),
		RunE: a.onClient(func(ctx context.Context, c *jobs.Client, args []string) error {
			unknown, err := a.unknownNames(ctx, c, kind, args[0])
			if err != nil {
				return err
			}
			changed, err := set(ctx, c, args[0], kind)
			if err != nil {
				return nameFlags(err, map[string]string{"queue": "NAME", "reason": "--reason"})
			}
			answer := pausing{args[0], kind, paused, changed, unknown}
			if asJSON {
				return a.printJSON(answer)
			}
			a.print("%s", answer)
			return nil
		}),
	}
	cmd.Flags().Var(&nameValue{&kind}, "kind", "only the jobs of the kind `NAME`")
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}
