package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqluice/sqluice/internal/queue/cron"
	"github.com/sqluice/sqluice/jobs"
)

const schedulesSetHelp = `set changes the given fields of a schedule alone. The payload is JSON; - reads it from standard input.

A change of a schedule that a program declares in code lasts until a worker starts with that program, which puts its own back.`

// scheduleSetFlags holds the flags of schedules set.
type scheduleSetFlags struct {
	cron, zone, queue, catchUp, overlap, payload string
	every                                        time.Duration
	asJSON                                       bool
}

func (a *app) schedulesSetCommand() *cobra.Command {
	var f scheduleSetFlags
	cmd := &cobra.Command{
		Use:     "set NAME [--cron SPEC | --every DURATION] [--zone ZONE] [--payload PAYLOAD]",
		Short:   "Change some fields of a schedule",
		Long:    schedulesSetHelp,
		Example: "  sqluice schedules set nightly-report --cron '0 3 * * *'",
		Args:    argCount(1, 1, "NAME"),

		ValidArgsFunction: a.completesFirst(scheduleNames),
	}
	flags := cmd.Flags()
	textFlag(flags, &f.cron, "cron", "when, as for put")
	flags.Var(&durationValue{value: &f.every, least: cron.MinEvery}, "every", "how far apart the ticks are, in place of --cron")
	textFlag(flags, &f.zone, "zone", "the time zone of --cron: an IANA name such as Europe/Berlin")
	textFlag(flags, &f.queue, "queue", "the queue of its jobs")
	textFlag(flags, &f.catchUp, "catch-up", "for ticks that were missed: latest, none or all:N")
	flags.Var(&choiceValue{&f.overlap, []string{"allow", "skip", "replace", "after"}}, "overlap", "while the last job has not ended")
	textFlag(flags, &f.payload, "payload", "the payload of its jobs")
	jsonFlag(flags, &f.asJSON)
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		change, err := f.change(ctx, a, flags)
		if err != nil {
			return err
		}
		return a.withClient(ctx, func(c *jobs.Client) error {
			if err := c.SetSchedule(ctx, args[0], change); err != nil {
				return nameFlags(err, scheduleFields)
			}
			return a.printScheduled(ctx, c, args[0], f.asJSON)
		})
	})
	return cmd
}

// change returns the change of the fields whose flags are set.
func (f *scheduleSetFlags) change(ctx context.Context, a *app, flags *pflag.FlagSet) (change jobs.ScheduleChange, err error) {
	set := flags.Changed
	if !slices.ContainsFunc([]string{"cron", "every", "zone", "queue", "catch-up", "overlap", "payload"}, set) {
		return change, usagef("give what to change, such as --cron or --payload")
	}
	if set("cron") && set("every") {
		return change, usagef("give either --cron or --every")
	}
	change = jobs.ScheduleChange{
		Spec: ifSet(set("cron"), f.cron), Zone: ifSet(set("zone"), jobs.Zone(f.zone)), Queue: ifSet(set("queue"), f.queue),
		CatchUp: ifSet(set("catch-up"), jobs.CatchUp(f.catchUp)), Overlap: ifSet(set("overlap"), jobs.Overlap(f.overlap)),
	}
	if set("every") {
		change.Spec = ifSet(true, "@every "+f.every.String())
	}
	if set("payload") {
		change.Payload, err = a.payloadOf(ctx, f.payload, scheduleFields)
	}
	return change, err
}

// ifSet returns a pointer to the value of a flag that is set, or nil.
func ifSet[T any](set bool, value T) *T {
	if !set {
		return nil
	}
	return &value
}
