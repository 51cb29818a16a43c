package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/cmd/sqluice/internal/human"
	"github.com/sqluice/sqluice/internal/queue/cron"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// scheduleFields maps the library's fields to flags.
var scheduleFields = map[string]string{
	"schedule name": "NAME", "kind": "--kind", "payload": "PAYLOAD", "queue": "--queue", "priority": "--priority",
	"max attempts": "--max-attempts", "timeout": "--timeout", "user id": "--user-id", "tag": "--tag", "number of tags": "number of --tag",
	"start-within time": "--start-by", "specification": "--cron or --every", "zone": "--zone", "catch-up": "--catch-up", "overlap": "--overlap",
}

// schedulesPage is the number of schedules of one read.
const schedulesPage = 500

func (a *app) schedulesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "schedules",
		Short: "List the schedules; put, set, pause, run and delete them",
		Long: "schedules lists what enqueues jobs by the clock, with the next tick and the last one of each. A schedule of a program's\n" +
			"code is due only while a worker lives that declares it.",
		GroupID: groupRun,
		Args:    takesCommand(),
		RunE:    a.onClient(func(ctx context.Context, c *jobs.Client, _ []string) error { return a.schedules(ctx, c, asJSON) }),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.AddCommand(
		a.schedulesPutCommand(),
		a.schedulesSetCommand(),
		a.schedulesShowCommand(),
		a.scheduleSwitch("pause", "Stop a schedule until it is resumed; its jobs stay", true, (*jobs.Client).PauseSchedule),
		a.scheduleSwitch("resume", "Let a paused schedule go on with its next tick", false, (*jobs.Client).ResumeSchedule),
		a.schedulesRunCommand(),
		a.schedulesDeleteCommand(),
		a.schedulesNextCommand(),
	)
	return cmd
}

// scheduleAnswer is a schedule in an answer, with the fields of the API's.
type scheduleAnswer struct {
	jobs.ScheduleInfo
	Status string `json:"state"`
}

func scheduleOf(s jobs.ScheduleInfo) scheduleAnswer { return scheduleAnswer{s, s.State()} }

// eachSchedule calls do with the schedules by name.
func eachSchedule(ctx context.Context, c *jobs.Client, do func(jobs.ScheduleInfo) error) error {
	for after := ""; ; {
		list, err := c.ListSchedules(ctx, after, schedulesPage)
		if err != nil {
			return err
		}
		for _, s := range list {
			if err := do(s); err != nil {
				return err
			}
			after = s.Name
		}
		if len(list) < schedulesPage {
			return nil
		}
	}
}

func (a *app) schedules(ctx context.Context, c *jobs.Client, asJSON bool) error {
	if asJSON {
		list := jsonArray{app: a}
		if err := eachSchedule(ctx, c, func(s jobs.ScheduleInfo) error { return list.add(scheduleOf(s)) }); err != nil {
			return err
		}
		list.close()
		return nil
	}
	now := inspect.New(c).Now()
	t := newTable(a.out, "NAME", "KIND", "SPEC", "ZONE", "NEXT", "LAST", "JOB", "STATE")
	err := eachSchedule(ctx, c, func(s jobs.ScheduleInfo) error {
		job := "-"
		if s.LastJob != 0 {
			job = strconv.FormatInt(s.LastJob, 10)
		}
		t.row(s.Name, s.Kind, s.Spec, s.Zone, nextTick(now, s), human.Age(now, s.Last), job, scheduleState(s))
		return nil
	})
	if err != nil {
		return err
	}
	return t.close()
}

// scheduleState returns the state of a schedule, for people.
func scheduleState(s jobs.ScheduleInfo) string {
	if state := s.State(); state != jobs.ScheduleActive || !s.Unhandled {
		return state
	}
	return "active, no worker"
}

// nextTick returns when a schedule is due, for people.
func nextTick(now time.Time, s jobs.ScheduleInfo) string {
	if s.State() != jobs.ScheduleActive || s.Next.IsZero() {
		return "-"
	}
	return inZone(s, s.Next).Format(time.RFC3339) + " (" + human.Age(now, s.Next) + ")"
}

// inZone returns a time in the zone of a schedule, or in the local zone if the schedule has none, such as one of a period.
func inZone(s jobs.ScheduleInfo, t time.Time) time.Time {
	zone, err := cron.Zone(s.Zone)
	if err != nil || strings.HasPrefix(s.Spec, "@every") {
		return t.Local() // the state of the schedule names an unknown zone
	}
	return t.In(zone)
}

func (a *app) schedulesShowCommand() *cobra.Command {
	var asJSON bool
	n := 20
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a schedule and what came of its last ticks",
		Args:  argCount(1, 1, "NAME"),

		ValidArgsFunction: a.completesFirst(scheduleNames),
		RunE: a.onClient(func(ctx context.Context, c *jobs.Client, args []string) error {
			return a.showSchedule(ctx, c, args[0], n, asJSON)
		}),
	}
	cmd.Flags().Var(&intValue{&n, 1, 100}, "limit", "the most ticks to list")
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func (a *app) showSchedule(ctx context.Context, c *jobs.Client, name string, n int, asJSON bool) error {
	s, err := c.GetSchedule(ctx, name)
	if err != nil {
		return nameFlags(err, scheduleFields)
	}
	ticks, err := c.ScheduleTicks(ctx, name, n)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(struct {
			Schedule scheduleAnswer      `json:"schedule"`
			Ticks    []jobs.ScheduleTick `json:"ticks"`
		}{scheduleOf(s), ticks})
	}
	now := inspect.New(c).Now()
	rows := newTable(a.out)
	for _, row := range [][2]string{
		{"name", s.Name}, {"kind", s.Kind}, {"queue", s.Queue}, {"spec", s.Spec}, {"zone", s.Zone}, {"catch-up", s.CatchUp}, {"overlap", s.Overlap},
		{"payload", string(s.Payload)}, {"options", string(s.Options)}, {"state", s.State()}, {"fault", s.Fault},
		{"next", human.MomentIn(now, inZone(s, s.Next))}, {"owed", human.MomentIn(now, inZone(s, s.Owed))}, {"changed", human.Moment(now, s.Updated)},
	} {
		if row[1] != "" && row[1] != "-" {
			rows.row(row[0], row[1])
		}
	}
	if err := rows.close(); err != nil {
		return err
	}
	if len(ticks) == 0 {
		return nil
	}
	a.print("")
	t := newTable(a.out, "TICK", "OUTCOME", "JOB", "AT", "")
	for _, tick := range ticks {
		job, more := "-", ""
		if tick.Job != 0 {
			job = strconv.FormatInt(tick.Job, 10)
		}
		if !tick.MissedSince.IsZero() {
			more = "missed since " + inZone(s, tick.MissedSince).Format(time.RFC3339)
		}
		if tick.Replaced != 0 {
			more += " in place of job " + strconv.FormatInt(tick.Replaced, 10)
		}
		t.row(inZone(s, tick.Tick).Format(time.RFC3339), string(tick.Outcome), job, human.Age(now, tick.At), more)
	}
	return t.close()
}

// schedulePausing is the answer to a pause or a resume, with the fields of the API's.
type schedulePausing struct {
	Schedule string `json:"schedule"`
	Paused   bool   `json:"paused"`
	Changed  bool   `json:"changed"` // false if the schedule was in this state before
}

// scheduleSwitch is the pause or the resume command. Repeating it is not an error.
func (a *app) scheduleSwitch(
	verb, short string, paused bool, set func(*jobs.Client, context.Context, string) (bool, error),
) *cobra.Command {
	return a.scheduleCommand(verb, short, func(ctx context.Context, c *jobs.Client, name string, asJSON bool) error {
		changed, err := set(c, ctx, name)
		if err != nil {
			return nameFlags(err, scheduleFields)
		}
		if asJSON {
			return a.printJSON(schedulePausing{name, paused, changed})
		}
		became := verb + "d"
		if !changed {
			became = "no change"
		}
		a.print("schedule %s: %s", printable(name), became)
		return nil
	})
}

func (a *app) schedulesDeleteCommand() *cobra.Command {
	return a.scheduleCommand("delete", "Remove a schedule; its jobs stay", func(ctx context.Context, c *jobs.Client, name string, asJSON bool) error {
		found, err := c.DeleteSchedule(ctx, name)
		if err == nil && !found {
			err = fmt.Errorf("delete schedule %s: %w", strconv.Quote(name), jobs.ErrNoSchedule)
		}
		if err != nil {
			return nameFlags(err, scheduleFields)
		}
		if asJSON {
			return a.printJSON(struct {
				Schedule string `json:"schedule"`
				Deleted  bool   `json:"deleted"`
			}{name, true})
		}
		a.print("schedule %s: deleted", printable(name))
		return nil
	})
}

func (a *app) schedulesRunCommand() *cobra.Command {
	return a.scheduleCommand("run", "Enqueue a schedule's job at once and print its id", func(ctx context.Context, c *jobs.Client, name string, asJSON bool) error {
		id, err := c.RunSchedule(ctx, name)
		if err != nil {
			return nameFlags(err, scheduleFields)
		}
		if asJSON {
			return a.printJSON(struct {
				ID int64 `json:"id"`
			}{id})
		}
		a.print("%d", id)
		return nil
	})
}

// scheduleCommand is a command that changes one schedule.
func (a *app) scheduleCommand(name, short string, change func(ctx context.Context, c *jobs.Client, name string, asJSON bool) error) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   name + " NAME",
		Short: short,
		Args:  argCount(1, 1, "NAME"),

		ValidArgsFunction: a.completesFirst(scheduleNames),
		RunE:              a.onClient(func(ctx context.Context, c *jobs.Client, args []string) error { return change(ctx, c, args[0], asJSON) }),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}
