package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// scheduleChangeTests cover the changes of schedules by people and programs.
var scheduleChangeTests = []test{
	{"Options", testScheduleOptions},
	{"Changes", testScheduleChanges},
	{"Refuses", testScheduleRefuses},
	{"Sensitive", testScheduleSensitive},
	{"Audit", testScheduleAudit},
	{"States", testScheduleStates},
	{"InATransaction", testScheduleInATransaction},
	{"Plain", testPlainSchedule},
	{"PlainFaults", testPlainScheduleFaults},
}

func testScheduleOptions(f *fixture) {
	args := json.RawMessage(`{"a": 1}`)
	kind := jobs.Kind[json.RawMessage]{Name: "k", Queue: "q", Priority: 3, MaxAttempts: 7}
	f.must(f.client.PutSchedule(f.ctx, kind.Every("s", time.Minute, args, jobs.Timeout(time.Second), jobs.UserID("u"), jobs.Tags("t1", "t2"),
		jobs.Metadata(map[string]int{"m": 1}))))
	id, err := f.client.RunSchedule(f.ctx, "s")
	f.must(err)
	job := f.get(id)
	var payload, metadata map[string]any
	f.must(json.Unmarshal(job.Payload, &payload))
	f.must(json.Unmarshal(job.Metadata, &metadata))
	if job.Queue != "q" || job.Priority != 3 || job.MaxAttemptsFrom != jobs.SettingDefault || job.Timeout != time.Second || job.UserID != "u" ||
		!slices.Equal(job.Tags, []string{"t1", "t2"}) || payload["a"] != 1.0 || metadata["m"] != 1.0 || len(metadata) != 2 {
		f.Errorf("the job is %+v", job)
	}
	want(f, "status", job.Status, jobs.StatusPending)
	want(f, "the job's schedule", job.Schedule(), "s")
	info, err := f.client.GetSchedule(f.ctx, "s")
	f.must(err)
	want(f, "the options", string(info.Options), `{"metadata":{"m":1},"priority":3,"tags":["t1","t2"],"timeout":1000000,"user_id":"u"}`)
	want(f, "a plain job's schedule", f.get(f.enqueue("k")).Schedule(), "")
}

func testScheduleChanges(f *fixture) {
	client := f.client
	put := func(spec string, opts ...jobs.ScheduleOption) jobs.ScheduleInfo {
		f.Helper()
		f.must(client.PutSchedule(f.ctx, jobs.NewSchedule("s", spec, "k", json.RawMessage("{}"), opts...)))
		info, err := client.GetSchedule(f.ctx, "s")
		f.must(err)
		return info
	}
	first := put("@every 1h")
	same := put("@every 1h", jobs.Priority(5))
	if !same.Next.Equal(first.Next) || !same.Start.Equal(first.Start) || string(same.Options) == string(first.Options) {
		f.Errorf("a change of options made\n%+v of\n%+v", same, first)
	}
	other := put("0 0 1 1 *", jobs.Zone("Asia/Tokyo"))
	if other.Next.UTC().Hour() != 15 || other.Next.UTC().Day() != 31 {
		f.Errorf("the new year in Tokyo is at %v", other.Next.UTC())
	}
	for _, test := range []struct {
		what   string
		change func(context.Context, string) (bool, error)
		wanted bool
	}{
		{"resume", client.ResumeSchedule, false}, {"pause", client.PauseSchedule, true}, {"pause again", client.PauseSchedule, false},
		{"resume", client.ResumeSchedule, true}, {"resume again", client.ResumeSchedule, false}, {"pause", client.PauseSchedule, true},
	} {
		changed, err := test.change(f.ctx, "s")
		f.must(err)
		want(f, test.what, changed, test.wanted)
	}
	if paused := put("@every 2h"); paused.Paused.IsZero() {
		f.Error("putting a paused schedule has resumed it")
	}
	if _, err := client.RunSchedule(f.ctx, "s"); err != nil {
		f.Errorf("running a paused schedule: %v", err)
	}
	f.must(client.PutSchedule(f.ctx, jobs.NewSchedule("a", "@daily", "k", json.RawMessage("{}"))))
	for _, test := range []struct {
		after string
		n     int
		want  string
	}{{"", 10, "[a s]"}, {"", 1, "[a]"}, {"a", 10, "[s]"}, {"s", 10, "[]"}} {
		list, err := client.ListSchedules(f.ctx, test.after, test.n)
		f.must(err)
		names := []string{}
		for _, s := range list {
			names = append(names, s.Name)
		}
		want(f, "the list after "+test.after, fmt.Sprint(names), test.want)
	}
	for _, wanted := range []bool{true, false} {
		deleted, err := client.DeleteSchedule(f.ctx, "s")
		f.must(err)
		want(f, "deleted", deleted, wanted)
	}
	_, pause := client.PauseSchedule(f.ctx, "s")
	_, resume := client.ResumeSchedule(f.ctx, "s")
	_, run := client.RunSchedule(f.ctx, "s")
	_, get := client.GetSchedule(f.ctx, "s")
	_, ticks := client.ScheduleTicks(f.ctx, "s", 1)
	for what, err := range map[string]error{"pause": pause, "resume": resume, "run": run, "get": get, "ticks": ticks} {
		if !errors.Is(err, jobs.ErrNoSchedule) || !strings.Contains(err.Error(), `"s"`) {
			f.Errorf("%s of a schedule that is not there: %v", what, err)
		}
	}
}

func testScheduleRefuses(f *fixture) {
	good := func(opts ...jobs.ScheduleOption) jobs.Schedule {
		return jobs.NewSchedule("s", "@daily", "k", json.RawMessage("{}"), opts...)
	}
	for text, s := range map[string]jobs.Schedule{
		"schedule name":            jobs.NewSchedule("", "@daily", "k", json.RawMessage("{}")),
		"must be from 0 to 59":     jobs.NewSchedule("s", "60 * * * *", "k", json.RawMessage("{}")),
		"30 2 *":                   jobs.NewSchedule("s", "0 0 30 2 *", "k", json.RawMessage("{}")),
		"whole seconds":            jobs.NewSchedule("s", "@every 1500ms", "k", json.RawMessage("{}")),
		"kind":                     jobs.NewSchedule("s", "@daily", "", json.RawMessage("{}")),
		"payload":                  jobs.NewSchedule("s", "@daily", "k", json.RawMessage("{")),
		"encode payload":           jobs.Kind[func()]{Name: "k"}.Cron("s", "@daily", func() {}),
		"IANA name":                good(jobs.Zone("Mars/Olympus")),
		"from 1 to 999":            good(jobs.CatchUpAll(0)),
		`"all:1000"`:               good(jobs.CatchUpAll(1000)),
		"be latest, none":          good(jobs.CatchUp("sometimes")),
		"be allow, skip":           good(jobs.Overlap("never")),
		"a delay or a time":        good(jobs.In(time.Minute)),
		"a unique key":             good(jobs.Unique("u")),
		"a request id":             good(jobs.RequestID("r")),
		"metadata must be an obje": good(jobs.Metadata([]int{1})),
		"metadata must be an":      good(jobs.Metadata(1)),
		"priority":                 good(jobs.Priority(1 << 20)),
		`not '\n'`:                 jobs.NewSchedule("s", "0 2 * *\n*", "k", json.RawMessage("{}")),
		`not '\t'`:                 jobs.NewSchedule("s", "@every 90s\t", "k", json.RawMessage("{}")),
		`not '\u00a0'`:             jobs.NewSchedule("s", "0\u00a02 * * *", "k", json.RawMessage("{}")),
		"not the zero Schedule":    {},
		"be due within forty year": jobs.NewSchedule("s", "*/5 2 * 3 sunL", "k", json.RawMessage("{}"), jobs.Zone("Europe/Berlin")),
	} {
		err := f.client.PutSchedule(f.ctx, s)
		if err == nil || !strings.Contains(err.Error(), text) {
			f.Errorf("a schedule with a fault in %s: %v", text, err)
		}
		if invalid := (*jobs.InvalidError)(nil); !errors.As(err, &invalid) && text != "encode payload" {
			f.Errorf("a schedule with a fault in %s is not refused as bad input: %v", text, err)
		}
		r := f.runner(f.client, jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return nil }))
		r.Schedule(s)
		if err := r.Run(f.ctx); err == nil || !strings.Contains(err.Error(), text) {
			f.Errorf("a runner with a fault in %s: %v", text, err)
		}
	}
	r := f.runner(f.client, jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return nil }))
	r.Schedule(good(), good())
	if err := r.Run(f.ctx); err == nil || !strings.Contains(err.Error(), "declared twice") {
		f.Errorf("a schedule that is declared twice: %v", err)
	}
	_, lists := f.client.ListSchedules(f.ctx, "", -1)
	_, ticks := f.client.ScheduleTicks(f.ctx, "s", -1)
	for what, err := range map[string]error{"schedules": lists, "ticks": ticks} {
		if invalid := (*jobs.InvalidError)(nil); !errors.As(err, &invalid) || invalid.Field != "limit" || invalid.Value != "-1" {
			f.Errorf("a list of -1 %s: %v", what, err)
		}
	}
	for _, name := range []string{"a\x00", "\xff"} {
		_, get := f.client.GetSchedule(f.ctx, name)
		_, run := f.client.RunSchedule(f.ctx, name)
		_, ticks := f.client.ScheduleTicks(f.ctx, name, 1)
		_, lists := f.client.ListSchedules(f.ctx, name, 1)
		_, why := inspect.New(f.client).WhySchedule(f.ctx, name)
		for what, err := range map[string]error{"get": get, "run": run, "ticks": ticks, "list": lists, "why": why} {
			if invalid := (*jobs.InvalidError)(nil); !errors.As(err, &invalid) || invalid.Field != "schedule name" {
				f.Errorf("%s by the name %q: %v", what, name, err)
			}
		}
	}
	list, err := f.client.ListSchedules(f.ctx, "", 0)
	f.must(err)
	want(f, "a list of no schedules", len(list), 0)
	list, err = f.client.ListSchedules(f.ctx, "", 10)
	f.must(err)
	want(f, "schedules that were refused", len(list), 0)
}

func testScheduleSensitive(f *fixture) {
	kind := jobs.Kind[json.RawMessage]{Name: "k", Sensitive: []string{"token", "metadata:m"}}
	secret := json.RawMessage(`{"token": "secret", "open": 1}`)
	f.must(f.client.PutSchedule(f.ctx, kind.Every("s", time.Minute, secret, jobs.Metadata(map[string]string{"m": "secret"}))))
	info, err := f.client.GetSchedule(f.ctx, "s")
	f.must(err)
	if text := string(info.Payload) + string(info.Options); strings.Contains(text, "secret") || !strings.Contains(text, "open") {
		f.Errorf("what is shown is %s", text)
	}
	wantInvalid(f, "a payload as it was shown", f.client.PutSchedule(f.ctx, jobs.NewSchedule("s", "@every 1m", "k", info.Payload)))
	info, err = f.client.Revealed().GetSchedule(f.ctx, "s")
	f.must(err)
	if text := string(info.Payload) + string(info.Options); strings.Count(text, "secret") != 2 {
		f.Errorf("what is revealed is %s", text)
	}
	id, err := f.client.RunSchedule(f.ctx, "s")
	f.must(err)
	job, err := f.client.Revealed().Get(f.ctx, id)
	f.must(err)
	if !strings.Contains(string(job.Payload), "secret") {
		f.Errorf("the job has %s", job.Payload)
	}
}

func testScheduleAudit(f *fixture) {
	ctx := f.as("me")
	f.must(f.client.PutSchedule(ctx, jobs.NewSchedule("s", "@daily", "k", json.RawMessage("{}"))))
	_, err := f.client.PauseSchedule(ctx, "s")
	f.must(err)
	_, err = f.client.PauseSchedule(ctx, "s") // changes nothing
	f.must(err)
	_, err = f.client.ResumeSchedule(ctx, "s")
	f.must(err)
	id, err := f.client.RunSchedule(ctx, "s")
	f.must(err)
	_, err = f.client.DeleteSchedule(ctx, "s")
	f.must(err)
	var actions []string
	for _, entry := range f.audit(inspect.AuditFilter{}) {
		actions = append(actions, string(entry.Action))
		if !strings.Contains(string(entry.Detail), `"s"`) || entry.Actor != "me" {
			f.Errorf("the entry is %+v", entry)
		}
		if entry.Action == inspect.ActionRunSchedule && entry.JobID != id {
			f.Errorf("the entry names job %d", entry.JobID)
		}
	}
	want(f, "the audit log", strings.Join(actions, ", "), "put schedule, pause schedule, resume schedule, run schedule, delete schedule")
}

func testScheduleStates(f *fixture) {
	for _, name := range []string{"active", "paused", "overdue"} {
		f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule(name, "0 0 1 1 *", "k", json.RawMessage("{}"))))
	}
	_, err := f.client.PauseSchedule(f.ctx, "paused")
	f.must(err)
	r := f.runner(f.client, jobs.Config{}, on("k", nothing))
	r.Schedule(jobs.NewSchedule("code", "0 0 1 1 *", "k", json.RawMessage("{}")))
	running := f.run(r)
	f.eventually("the schedule of the code is there", func() bool {
		_, err := f.client.GetSchedule(f.ctx, "code")
		return err == nil
	})
	f.sql("insert_schedule", "MORE_COLUMNS", "zone", "MORE_VALUES", "'Nowhere'")
	states := func() string {
		stats, err := inspect.New(f.client).ScheduleStats(f.ctx)
		f.must(err)
		return fmt.Sprint(stats.States)
	}
	f.eventually("the states are known", func() bool {
		return states() == "map[active:3 faulty:1 paused:1 undeclared:0]"
	})
	f.must(running.stop())
	want(f, "the states without the worker", states(), "map[active:2 faulty:1 paused:1 undeclared:1]")
	f.setNext("overdue", f.store.Now().Add(-time.Hour))
	f.setNext("paused", f.store.Now().Add(-2*time.Hour))
	stats, err := inspect.New(f.client).ScheduleStats(f.ctx)
	f.must(err)
	if stats.Overdue < time.Hour || stats.Overdue > 90*time.Minute {
		f.Errorf("the most overdue one has been due for %s", stats.Overdue)
	}
}

// Changes of schedules in a caller's transaction are there when that commits.
func testScheduleInATransaction(f *fixture) {
	undone := errors.New("undone")
	for _, result := range []error{undone, nil} {
		err := f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) error {
			if err := tx.PutSchedule(ctx, jobs.NewSchedule("s", "@daily", "k", json.RawMessage("{}"))); err != nil {
				return err
			}
			if _, err := tx.RunSchedule(ctx, "s"); err != nil {
				return err
			}
			return result
		})
		if !errors.Is(err, result) {
			f.Fatal(err)
		}
		list, err := f.client.ListSchedules(f.ctx, "", 10)
		f.must(err)
		want(f, "there", len(list) == 1, result == nil)
	}
	want(f, "jobs", f.statuses()[jobs.StatusPending], 1)
}

func testPlainSchedule(f *fixture) {
	f.sql("insert_schedule", "MORE_COLUMNS", "options", "MORE_VALUES", `'{"priority": 7, "tags": ["t"], "metadata": {"a": 1}}'`)
	now := f.store.Now()
	f.fire(schedule.Watch{Now: now, Since: now, DeferUntil: now})
	info, err := f.client.GetSchedule(f.ctx, "plain")
	f.must(err)
	if !info.Next.After(now) || info.Next.Sub(now) > time.Minute || info.Queue != "default" || info.Zone != "UTC" {
		f.Fatalf("the schedule is %+v", info)
	}
	f.fire(schedule.Watch{Now: info.Next, Since: now, DeferUntil: now})
	ticks, err := f.client.ScheduleTicks(f.ctx, "plain", 10)
	f.must(err)
	want(f, "ticks", len(ticks), 1)
	job := f.get(ticks[0].Job)
	if job.Priority != 7 || !slices.Equal(job.Tags, []string{"t"}) || !job.Tick().Equal(info.Next) || string(job.Payload) != "{}" {
		f.Errorf("the job is %+v", job)
	}
}

func testPlainScheduleFaults(f *fixture) {
	now := f.store.Now()
	for columns, text := range map[[2]string]string{
		{"options", `'{"nonsense": 1}'`}:      "nonsense",
		{"options", `'{"payload": "{}"}'`}:    "must not be an option",
		{"options", `'{"start_by": 1}'`}:      "must not be an option",
		{"options", `'{"start_within": -1}'`}: "a number of microseconds",
		{"options", `'{"metadata": [1]}'`}:    "must be an object",
		{"options", `'{"priority": "high"}'`}: "priority",
		{"zone", `'Mars/Olympus'`}:            "IANA",
	} {
		f.sql("insert_schedule", "MORE_COLUMNS", columns[0], "MORE_VALUES", columns[1])
		f.fire(schedule.Watch{Now: now, Since: now, DeferUntil: now})
		info, err := f.client.GetSchedule(f.ctx, "plain")
		f.must(err)
		if !strings.Contains(info.Fault, text) {
			f.Errorf("%v: the fault is %q", columns, info.Fault)
		}
		fired := f.fire(schedule.Watch{Now: now.Add(time.Hour), Since: now, DeferUntil: now})
		want(f, "jobs of a schedule with a fault", len(fired.Jobs), 0)
		_, err = f.client.DeleteSchedule(f.ctx, "plain")
		f.must(err)
	}
}
