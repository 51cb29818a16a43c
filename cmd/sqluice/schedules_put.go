package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqluice/sqluice/internal/queue/cron"
	"github.com/sqluice/sqluice/jobs"
)

const schedulesPutHelp = `put adds a schedule, or replaces the one with this name: its next tick stays unless --cron, --every or --zone
changes, and it stays paused if it is. PAYLOAD is JSON, {} when left out; - reads it from standard input. Any worker enqueues its jobs, until it is deleted.

--catch-up says what becomes of ticks while no worker was there: one job for all of them, none, or one for each of the last N.
--overlap says what becomes of a tick when the job of the one before it has not ended: another job all the same, no job, a job
in place of that one, which is cancelled, or a job after it.

A schedule that a program declares in code is refused without --force, and what --force puts lasts until a worker starts with that
program. "sqluice schedules set" changes some fields of a schedule.

put makes the SQLite file if there is none. In PostgreSQL, "sqluice up" makes the tables.`

// scheduleFlags holds the flags of schedules put.
type scheduleFlags struct {
	kind, cron, zone, catchUp, overlap string
	every, startBy                     time.Duration
	job                                enqueueFlags
	asJSON, force                      bool
}

func (a *app) schedulesPutCommand() *cobra.Command {
	f := scheduleFlags{zone: "UTC", catchUp: string(jobs.CatchUpLatest), overlap: string(jobs.OverlapAllow)}
	var durability durabilityFor
	cmd := &cobra.Command{
		Use:   "put NAME (--cron SPEC | --every DURATION) --kind KIND [PAYLOAD]",
		Short: "Add or replace a schedule",
		Long:  schedulesPutHelp,
		Example: "  sqluice schedules put nightly-report --cron '0 2 * * *' --zone Europe/Berlin --kind report\n" +
			"  sqluice schedules put tidy --every 90s --kind tidy '{\"older\": \"7d\"}' --overlap skip",
		Args: argCount(1, 2, "NAME", payloadName),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", "the `KIND` of the jobs")
	flags.StringVar(&f.cron, "cron", "", "when: minute, hour, day of month, month, day of week; six fields begin with seconds; or @daily")
	flags.Var(&durationValue{value: &f.every, least: cron.MinEvery}, "every", "how far apart the ticks are, in place of --cron")
	textFlag(flags, &f.zone, "zone", "the time zone of --cron: an IANA name such as Europe/Berlin")
	textFlag(flags, &f.catchUp, "catch-up", "for ticks that were missed: latest, none or all:N")
	flags.Var(&choiceValue{&f.overlap, []string{"allow", "skip", "replace", "after"}}, "overlap", "while the last job has not ended")
	f.job.common(flags)
	flags.Var(&durationValue{value: &f.startBy, least: time.Microsecond}, "start-by", "cancel a job if it has not started within this `DURATION` after its tick")
	flags.BoolVar(&f.force, "force", false, "replace a schedule that a program declares in code, until that program starts again")
	jsonFlag(flags, &f.asJSON)
	durability = durabilityFlag(flags)
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		s, err := f.schedule(ctx, a, args, flags)
		if err != nil {
			return err
		}
		if err := a.beforeMaking(s.Validate, scheduleFields); err != nil {
			return err
		}
		return a.withCreatedClient(ctx, durability, func(c *jobs.Client) error {
			if _, err := a.unknownNames(ctx, c, f.kind, f.job.queue); err != nil {
				return err
			}
			var opts []jobs.PutOption
			if f.force {
				opts = append(opts, jobs.Force())
			}
			if err := c.PutSchedule(ctx, s, opts...); err != nil {
				return nameFlags(err, scheduleFields)
			}
			return a.printScheduled(ctx, c, args[0], f.asJSON)
		})
	})
	return cmd
}

// printScheduled prints a schedule that was put.
func (a *app) printScheduled(ctx context.Context, c *jobs.Client, name string, asJSON bool) error {
	info, err := c.GetSchedule(ctx, name)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(scheduleOf(info))
	}
	state := "next at " + inZone(info, info.Next).Format(time.RFC3339)
	if info.State() != jobs.ScheduleActive {
		state = info.State()
	}
	a.print("schedule %s: %s", printable(info.Name), state)
	return nil
}

// schedule returns the schedule for the flags. What it finds wrong comes before a database is made.
func (f *scheduleFlags) schedule(ctx context.Context, a *app, args []string, flags *pflag.FlagSet) (jobs.Schedule, error) {
	opts, err := f.job.commonOptions(flags.Changed)
	if err != nil {
		return jobs.Schedule{}, err
	}
	spec, err := f.spec(flags.Changed("zone"))
	if err != nil {
		return jobs.Schedule{}, err
	}
	for _, name := range []struct{ field, value string }{{"schedule name", args[0]}, {"kind", f.kind}} {
		if err := jobs.ValidateName(name.field, name.value); err != nil {
			return jobs.Schedule{}, nameFlags(err, scheduleFields)
		}
	}
	payload := json.RawMessage("{}")
	if len(args) > 1 {
		if payload, err = a.payloadOf(ctx, args[1], scheduleFields); err != nil {
			return jobs.Schedule{}, err
		}
	}
	all := []jobs.ScheduleOption{jobs.Zone(f.zone), jobs.CatchUp(f.catchUp), jobs.Overlap(f.overlap)}
	for _, opt := range append(opts, jobs.StartWithin(f.startBy)) {
		all = append(all, opt)
	}
	return jobs.NewSchedule(args[0], spec, f.kind, payload, all...), nil
}

// spec returns the specification for the flags.
func (f *scheduleFlags) spec(zoned bool) (string, error) {
	spec := f.cron
	switch {
	case f.every > 0 && f.cron != "":
		return "", usagef("give either --cron or --every")
	case f.every > 0 && zoned:
		return "", usagef("--zone is for --cron: --every counts from when it is put")
	case f.every > 0:
		spec = "@every " + f.every.String()
	case f.cron == "":
		return "", usagef("give --cron, such as '0 2 * * *', or --every")
	}
	if f.kind == "" {
		return "", usagef("give the --kind of its jobs")
	}
	if _, err := cron.Parse(spec); err != nil {
		flag := "--cron"
		if f.every > 0 {
			flag = "--every"
		}
		return "", usagef("%s: %s", flag, err)
	}
	if _, err := cron.Zone(f.zone); err != nil {
		return "", usagef("--zone: %s", err)
	}
	return spec, nil
}
