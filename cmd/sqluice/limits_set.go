package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/internal/limitplace"
	"github.com/sqluice/sqluice/internal/ratetext"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const limitsSetHelp = `set sets the limit of a kind and a key, in place of the one that was set before; what is left out has no bound. Without KEY the
limit is for every key of the kind without a limit of its own, each by itself; jobs without a key share one. With --total it is for
all jobs of the kind together, with --queue for all jobs of a queue. A job starts when all of its limits have room.

The limit counts before the one that programs declare, until "sqluice limits delete". The next claim obeys it: when it is lower,
jobs that run go on, and none starts until there is room.

With --ordered the jobs of a key run one by one in the order of their ids. A job that has failed for good holds those behind it, until it is
retried or deleted, or "sqluice limits resume" goes on without it. --on-fail skip goes on by itself, and --on-fail cancel cancels them.

--dry-run shows the jobs that the limit would count, and the starts that it would allow, and changes nothing.`

// limitAnswer is the answer to a change of a limit.
type limitAnswer struct {
	Changed bool            `json:"changed"`
	Limit   *jobs.LimitInfo `json:"limit,omitempty"`

	// Only of a dry run.
	DryRun          bool    `json:"dry_run,omitempty"`
	StartsPerMinute float64 `json:"starts_per_minute,omitempty"` // the most starts of a key in a minute; 0: any number
	Over            int     `json:"over,omitempty"`              // jobs of the key that run beyond the limit
}

func (a *app) limitsSetCommand() *cobra.Command {
	var place limitPlace
	var v jobs.LimitValues
	var dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "set (KIND [KEY] | KIND --total | --queue NAME) [--running N] [--rate N/TIME [--burst N]] [--weight N] [--depth N [--on-full refuse|drop]] [--ordered [--on-fail hold|skip|cancel]]",
		Short: "Set the limit of a kind, of one key or of a queue",
		Long:  limitsSetHelp,
		Example: "  sqluice limits set charge --running 2 --rate 10/s --burst 20\n  sqluice limits set charge acme --rate 100/m --dry-run\n" +
			"  sqluice limits set charge --total --running 50\n  sqluice limits set --queue mail --rate 100/s",
		Args: argCount(0, 2, "KIND", "KEY"),

		ValidArgsFunction: a.completesFirst(kindNames),
	}
	flags := cmd.Flags()
	flags.Var(&intValue{&v.Running, 1, jobtype.MaxRunning}, "running", "the most jobs of a key that run at once")
	flags.Var(&rateValue{&v.Rate}, "rate", "the most starts of a key: `N/TIME`, such as 10/s, 100/m, 5/30s or 1000/d")
	flags.Var(&intValue{&v.Burst, 1, jobtype.MaxStarts}, "burst", "with --rate: the most starts at one time after a rest")
	flags.Var(&intValue{&v.Weight, 1, jobtype.MaxWeight}, "weight", "the jobs of a key that a claim starts before it turns to the next key")
	flags.Var(&intValue{&v.Depth, 1, jobtype.MaxBacklog}, "depth", "the most jobs of a key, or with --queue of the queue, that have not started")
	flags.StringVar((*string)(&v.OnFull), "on-full", "", "with --depth: what an enqueue beyond it does, `refuse|drop`; without it refuse")
	flags.BoolVar(&v.Ordered, "ordered", false, "run the jobs of a key one by one, in the order of their ids")
	flags.StringVar((*string)(&v.OnFail), "on-fail", "", "with --ordered: what a failed job does to those behind it, `hold|skip|cancel`; without it hold")
	place.flags(flags)
	flags.BoolVar(&dryRun, "dry-run", false, "show what the limit would do, and change nothing")
	jsonFlag(flags, &asJSON)
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		if err := place.read(args); err != nil {
			return err
		}
		if v == (jobs.LimitValues{}) {
			return usagef("give --running, --rate, --weight, --depth or --ordered")
		}
		return a.withClient(ctx, func(c *jobs.Client) error {
			if _, err := a.unknownNames(ctx, c, place.Kind, place.Queue); err != nil {
				return err
			}
			if dryRun {
				return a.tryLimit(ctx, c, &place, v, asJSON)
			}
			if err := place.Set(ctx, c, v); err != nil {
				return nameFlags(err, limitFields)
			}
			if asJSON {
				return a.printJSON(limitAnswer{Changed: true})
			}
			a.print("limit of %s: set", &place)
			return nil
		})
	})
	return cmd
}

// errDryRun undoes the transaction of a dry run.
var errDryRun = errors.New("a dry run")

// tryLimit prints what a limit would do. It sets the limit in a transaction, reads it there, and undoes that.
func (a *app) tryLimit(ctx context.Context, c *jobs.Client, place *limitPlace, v jobs.LimitValues, asJSON bool) error {
	answer := limitAnswer{DryRun: true, StartsPerMinute: ratetext.PerMinute(v.Rate)}
	err := c.Tx(ctx, func(ctx context.Context, tx *jobs.Client) error {
		if err := place.Set(ctx, tx, v); err != nil {
			return nameFlags(err, limitFields)
		}
		list, err := tx.Limits(ctx)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(list, func(l jobs.LimitInfo) bool { return limitplace.Of(l) == place.Place }); i >= 0 {
			answer.Limit = &list[i]
		}
		return errDryRun
	})
	if !errors.Is(err, errDryRun) || answer.Limit == nil {
		return err
	}
	if v.Running > 0 && !place.IsEach() {
		answer.Over = max(0, answer.Limit.RunningJobs-v.Running)
	}
	if asJSON {
		return a.printJSON(answer)
	}
	return a.printTrial(place, answer)
}

// printTrial prints what a limit would do.
func (a *app) printTrial(place *limitPlace, answer limitAnswer) error {
	l := answer.Limit
	a.print("limit of %s: not set, as this is a dry run", place)
	running, starts := "any number", "any number"
	if l.Running > 0 {
		running = strconv.Itoa(l.Running)
	}
	if answer.StartsPerMinute > 0 {
		starts = strconv.FormatFloat(math.Round(answer.StartsPerMinute*100)/100, 'f', -1, 64)
	}
	of := ""
	if place.IsEach() {
		of = " of each key"
	}
	t := newTable(a.out)
	t.row("running at once"+of, running)
	t.row("starts a minute"+of, starts)
	t.row("running now", strconv.Itoa(l.RunningJobs)+over(answer.Over))
	t.row("waiting now", strconv.Itoa(l.WaitingJobs))
	return t.close()
}

// over says how many jobs run beyond a limit.
func over(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d more than the limit: they go on, and none starts until there is room", n)
}

func (a *app) limitsDeleteCommand() *cobra.Command {
	var place limitPlace
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "delete (KIND [KEY] | KIND --total | --queue NAME)",
		Short: "Delete a limit that was set; what programs declare applies again",
		Args:  argCount(0, 2, "KIND", "KEY"),

		ValidArgsFunction: a.completesFirst(kindNames),
	}
	place.flags(cmd.Flags())
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		if err := place.read(args); err != nil {
			return err
		}
		return a.withClient(ctx, func(c *jobs.Client) error {
			deleted, err := place.Delete(ctx, c)
			switch {
			case err != nil:
				return nameFlags(err, limitFields)
			case asJSON:
				return a.printJSON(limitAnswer{Changed: deleted})
			case deleted:
				a.print("limit of %s: deleted", &place)
			default:
				a.print("limit of %s: there is none that was set", &place)
			}
			return nil
		})
	})
	return cmd
}
