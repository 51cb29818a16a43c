package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/cmd/sqluice/internal/human"
	"github.com/sqluice/sqluice/internal/limitplace"
	"github.com/sqluice/sqluice/internal/ratetext"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) limitsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "limits",
		Short: "List the limits of running jobs and of starts; set and delete them",
		Long: "limits lists the limits in force, with the jobs that they count: running ones, and waiting ones, which are due and have no\n" +
			"room; of a queue all that are due. A limit of a kind and (each) is for every key of the kind without a limit of its own, each by itself, and one of (all)\n" +
			"for all jobs of the kind together. One that was set counts before one that a program declares.",
		GroupID: groupRun,
		Args:    takesCommand(),
		RunE:    a.onClient(func(ctx context.Context, c *jobs.Client, _ []string) error { return a.limits(ctx, c, asJSON) }),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.AddCommand(a.limitsSetCommand(), a.limitsDeleteCommand(), a.limitsResumeCommand(), a.limitsKeysCommand())
	return cmd
}

func (a *app) limits(ctx context.Context, c *jobs.Client, asJSON bool) error {
	list, err := c.Limits(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(list)
	}
	now := inspect.New(c).Now()
	t := newTable(a.out, "KIND", "KEY", "QUEUE", "RUNNING", "WAITING", "STARTS", "SET")
	for _, l := range list {
		set := "by a program"
		if !l.Declared {
			set = human.Age(now, l.SetAt)
		}
		t.row(cmp.Or(l.Kind, "-"), limitKeyText(l), cmp.Or(l.Queue, "-"), runningText(l), strconv.Itoa(l.WaitingJobs), rateText(l.LimitValues), set)
	}
	return t.close()
}

// limitKeyText returns the key of a limit for people.
func limitKeyText(l jobs.LimitInfo) string {
	switch {
	case l.Queue != "":
		return "-"
	case l.Total:
		return "(all)"
	}
	return cmp.Or(l.Key, "(each)")
}

// runningText returns the number of running jobs of a limit, and its bound of them.
func runningText(l jobs.LimitInfo) string {
	text := strconv.Itoa(l.RunningJobs)
	if l.Running > 0 {
		text += " of " + strconv.Itoa(l.Running)
	}
	if l.Running > 0 && limitplace.Of(l).IsEach() {
		text += " each"
	}
	return text
}

// rateText returns the rate, the burst, the weight, the depth and the order of a limit.
func rateText(v jobs.LimitValues) string {
	text := cmp.Or(ratetext.Text(v.Rate), "any number")
	if v.Burst > 1 {
		text += ", burst " + strconv.Itoa(v.Burst)
	}
	if v.Weight > 1 {
		text += ", weight " + strconv.Itoa(v.Weight)
	}
	if v.Depth > 0 {
		text += ", depth " + strconv.Itoa(v.Depth) + ", on full " + string(v.OnFull)
	}
	if v.Ordered {
		text += ", in order, on fail " + string(v.OnFail)
	}
	return text
}

// rateValue is a rate, such as 10/s.
type rateValue struct{ value *jobs.Rate }

func (v *rateValue) Set(text string) (err error) {
	*v.value, err = ratetext.Parse(text)
	return err
}

func (v *rateValue) String() string { return ratetext.Text(*v.value) }
func (v *rateValue) Type() string   { return "N/TIME" }

func (a *app) limitsKeysCommand() *cobra.Command {
	var asJSON bool
	filter := inspect.LimitKeyFilter{Limit: 100}
	cmd := &cobra.Command{
		Use:   "keys KIND",
		Short: "List the limit keys of a kind that have running or waiting jobs",
		Long: "keys lists the limit keys of a kind in their order, with their running and waiting jobs, and when the next of them may start.\n" +
			"It counts at most " + strconv.Itoa(inspect.MaxWaitingCounted) + " waiting jobs of a key. If there may be more keys, standard error says how to list them.",
		Args: argCount(1, 1, "KIND"),

		ValidArgsFunction: a.completesFirst(kindNames),
		RunE: a.onClient(func(ctx context.Context, c *jobs.Client, args []string) error {
			filter.Kind = args[0]
			page, err := inspect.New(c).LimitKeys(ctx, filter)
			if err != nil {
				return nameFlags(err, limitFields)
			}
			if asJSON {
				return a.printJSON(page)
			}
			return a.limitKeys(inspect.New(c).Now(), page)
		}),
	}
	cmd.Flags().Var(&intValue{&filter.Limit, 1, inspect.MaxPage}, "limit", "the most keys to list")
	cmd.Flags().StringVar(&filter.From, "from", "", "the first `KEY` to list: the next one of an answer")
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// limitKeys prints a page of keys.
func (a *app) limitKeys(now time.Time, page inspect.LimitKeyPage) error {
	t := newTable(a.out, "KEY", "RUNNING", "WAITING", "QUEUES", "OLDEST", "NEXT START")
	for _, k := range page.Keys {
		key := k.Key
		if key == "" {
			key = "(none)"
		}
		waiting := strconv.FormatInt(k.Waiting, 10)
		if k.MoreWaiting {
			waiting += " or more"
		}
		t.row(key, strconv.FormatInt(k.Running, 10), waiting, strconv.Itoa(k.Queues), human.Age(now, k.Oldest), nextStart(now, k))
	}
	if err := t.close(); err != nil {
		return err
	}
	if page.Next != "" {
		a.printError("there are more keys: --from %s lists them", strconv.Quote(page.Next))
	}
	return nil
}

// nextStart says when the next job of a key may start.
func nextStart(now time.Time, k inspect.LimitKeyInfo) string {
	switch limitplace.WaitsFor(k, now) {
	case limitplace.Closed:
		return "closed until " + human.Moment(now, k.ClosedUntil)
	case limitplace.Time:
		return human.Moment(now, k.NextStart)
	case limitplace.End:
		return "when a job of the key ends"
	case limitplace.Slot:
		return "when a slot is free"
	case limitplace.Held:
		return fmt.Sprintf("held: job %d has failed", k.HeldBy)
	case limitplace.First:
		return fmt.Sprintf("after job %d, which is scheduled", k.Next)
	}
	return "-"
}

// limitFields maps the library's fields to flags.
var limitFields = map[string]string{
	"kind": "KIND", "limit key": "KEY", "queue": "--queue", "running of the limit": "--running", "starts of the rate": "starts of --rate",
	"period of the rate": "time of --rate", "rate": "--rate", "burst of the limit": "--burst", "weight of the limit": "--weight", "first key": "--from",
	"depth of the limit": "--depth", "on-full of the limit": "--on-full", "order of the limit": "--ordered", "on-fail of the limit": "--on-fail",
}
