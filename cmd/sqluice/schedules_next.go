package main

import (
	"context"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a system without a database of zones has this one

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/cron"
)

// ticksMost is the maximum number of ticks that schedules next prints.
const ticksMost = 10_000

func (a *app) schedulesNextCommand() *cobra.Command {
	zone, n, from, every, asJSON := "UTC", 5, time.Time{}, time.Duration(0), false
	var flags *pflag.FlagSet
	cmd := &cobra.Command{
		Use:   "next [SPEC]",
		Short: "Print the next times of a cron specification",
		Long: "next prints when a cron specification is due, and where a change of the zone's clock moves a time: minute, hour,\n" +
			"day of month, month, day of week; six fields begin with seconds; or @daily and its like. It needs no database.\n" +
			"With --json it prints a list of times, and says on standard error which of them a change of the clock moves.",
		Example: "  sqluice schedules next '0 2 * * *' --zone Europe/Berlin -n 5\n  sqluice schedules next --every 90s --from 2026-01-01T00:00:00Z --json",
		Args:    argCount(0, 1, "[SPEC]"),
		RunE: a.do(func(_ context.Context, args []string) error {
			text := strings.Join(args, "")
			switch {
			case every > 0 && text != "":
				return usagef("give either SPEC or --every")
			case every > 0 && flags.Changed("zone"):
				return usagef("--zone is for a SPEC: --every has none")
			case every > 0:
				text = "@every " + every.String()
			case text == "":
				return usagef("give a SPEC such as '0 2 * * *', or --every")
			}
			switch {
			case !flags.Changed("from"):
				from = time.Now()
			case from.Before(core.Earliest) || from.After(core.Latest):
				return usagef("--from must be from %s to %s, not %s", core.Earliest.Format(time.RFC3339), core.Latest.Format(time.RFC3339), from.Format(time.RFC3339))
			}
			return a.schedulesNext(text, zone, n, from, asJSON)
		}),
	}
	flags = cmd.Flags()
	textFlag(flags, &zone, "zone", "the time zone: an IANA name such as Europe/Berlin")
	flags.VarP(&intValue{&n, 1, ticksMost}, "count", "n", "how many times to print")
	flags.Var(&timeValue{&from}, "from", "print those after this time, in the form of RFC 3339 (default: now)")
	flags.Var(&durationValue{value: &every, least: cron.MinEvery}, "every", "print times this far apart, in place of a SPEC")
	jsonFlag(flags, &asJSON)
	return cmd
}

func (a *app) schedulesNext(text, zoneName string, n int, from time.Time, asJSON bool) error {
	spec, err := cron.Parse(text)
	if err != nil {
		return usagef("%s", err)
	}
	zone, err := cron.Zone(zoneName)
	if err != nil {
		return usagef("--zone: %s", err)
	}
	ticks := []string{}
	for at := from; len(ticks) < n; {
		if at = spec.Next(at, zone); at.IsZero() || at.In(zone).Year() > 9999 { // RFC 3339 has no later years
			break
		}
		tick := at.In(zone).Format(time.RFC3339)
		ticks = append(ticks, tick)
		line := tick
		switch {
		case spec.Moved(at, zone):
			line += "  moved: the clock is set forward past its time"
		case spec.Repeated(at, zone):
			line += "  the first of two: the clock is set back"
		}
		switch {
		case !asJSON:
			a.print("%s", line)
		case line != tick:
			_, _ = fmt.Fprintln(a.stderr, line)
		}
	}
	if len(ticks) == 0 {
		return fmt.Errorf("specification %q is not due within forty years, or before the year 10000, in the zone %s", text, zoneName)
	}
	if asJSON {
		return a.printJSON(ticks)
	}
	return nil
}
