package main

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

func fromJSON(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatal(err)
	}
}

// A schedule from its first put to its end.
func schedulesLive(t *testing.T, c *cli) {
	out := c.ok("schedules", "put", "nightly", "--cron", "0 2 * * *", "--zone", "Europe/Berlin", "--kind", "report", `{"a": 1}`, "--priority", "5",
		"--tag", "t", "--overlap", "skip", "--catch-up", "all:3", "--start-by", "1h")
	if !strings.HasPrefix(out, "schedule nightly: next at ") {
		t.Errorf("put says %q", out)
	}
	c.ok("schedules", "put", "often", "--every", "1s", "--kind", "k")
	if a := c.runWith(strings.NewReader(`{"from": "stdin"}`), "schedules", "put", "piped", "--cron", "@daily", "--kind", "k", "-"); a.code != exitOK {
		t.Errorf("a schedule whose payload is read: exit code %d\n%s", a.code, a.err)
	}
	if payload := get[struct{ Schedule scheduleAnswer }](c, "schedules", "show", "piped").Schedule.Payload; !sameJSON(t, payload, `{"from": "stdin"}`) {
		t.Errorf("the payload that was read is %s", payload)
	}
	c.failsWith(exitFailure, "{", []string{"standard input: payload"}, "schedules", "put", "piped", "--cron", "@daily", "--kind", "k", "-")
	c.ok("schedules", "delete", "piped")
	var list []scheduleAnswer
	fromJSON(t, c.ok("schedules", "--json"), &list)
	if len(list) != 2 || list[0].Name != "nightly" || list[0].Spec != "0 2 * * *" || list[0].Zone != "Europe/Berlin" || list[0].Overlap != "skip" ||
		list[0].CatchUp != "all:3" || !strings.Contains(string(list[0].Options), `"priority": 5`) || list[1].Spec != "@every 1s" ||
		list[0].Status != jobs.ScheduleActive {
		t.Errorf("the list is %+v", list)
	}
	table := c.ok("schedules")
	for _, text := range []string{"nightly", "report", "Europe/Berlin", "active", "@every 1s"} {
		if !strings.Contains(table, text) {
			t.Errorf("the list lacks %q:\n%s", text, table)
		}
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	next := list[0].Next.In(zone).Format(time.RFC3339)
	if !strings.HasPrefix(next[len("2026-01-01"):], "T02:00:00+") || !strings.Contains(table, next) || !strings.Contains(out, next) {
		t.Errorf("the next tick is %s; put says %q, and the list is\n%s", next, out, table)
	}
	id := strings.TrimSpace(c.ok("schedules", "run", "nightly"))
	if job := c.show(id).Job; job.Schedule() != "nightly" || job.Priority != 5 || job.Kind != "report" || job.StartBy.Sub(job.Tick()) != time.Hour {
		t.Errorf("the job is %+v", job)
	}
	if why := c.ok("show", id); !strings.Contains(why, "nightly") {
		t.Errorf("show of its job:\n%s", why)
	}
	for _, test := range []struct{ command, says string }{
		{"pause", "paused"}, {"pause", "no change"}, {"resume", "resumed"}, {"resume", "no change"}, {"pause", "paused"}, {"delete", "deleted"},
	} {
		if out := c.ok("schedules", test.command, "nightly"); out != "schedule nightly: "+test.says+"\n" {
			t.Errorf("%s says %q", test.command, out)
		}
	}
	worker := c.start("work", "--exec", execFlag(t, "k", "echo"))
	eventually(t, "two ticks have jobs", func() bool {
		var shown struct{ Ticks []jobs.ScheduleTick }
		fromJSON(t, c.ok("schedules", "show", "often", "--json"), &shown)
		return len(shown.Ticks) >= 2
	})
	worker.signal(os.Interrupt)
	worker.wantExit(exitOK)
	if out := c.ok("schedules", "show", "often"); !strings.Contains(out, "enqueued") || !strings.Contains(out, "@every 1s") {
		t.Errorf("show prints\n%s", out)
	}
	for _, args := range [][]string{{"show"}, {"run"}, {"pause"}, {"resume"}, {"delete"}} {
		c.fails(exitFailure, []string{"no such schedule", `"nightly"`}, append(append([]string{"schedules"}, args...), "nightly")...)
	}
	for text, args := range map[string][]string{
		"give --cron":                        {"x", "--kind", "k"},
		"either --cron or --every":           {"x", "--kind", "k", "--cron", "@daily", "--every", "1m"},
		"--zone is for --cron":               {"x", "--kind", "k", "--every", "1m", "--zone", "Europe/Berlin"},
		"must be from 0 to 59":               {"x", "--kind", "k", "--cron", "99 * * * *"},
		"IANA":                               {"x", "--kind", "k", "--cron", "@daily", "--zone", "Nowhere"},
		"--kind":                             {"x", "--cron", "@daily"},
		"--catch-up":                         {"x", "--cron", "@daily", "--kind", "k", "--catch-up", "some"},
		"--overlap":                          {"x", "--cron", "@daily", "--kind", "k", "--overlap", "some"},
		"PAYLOAD":                            {"x", "--cron", "@daily", "--kind", "k", "{"},
		`--cron: specification "0 2 * *\n*"`: {"x", "--kind", "k", "--cron", "0 2 * *\n*"},
		"--tag must not be empty":            {"x", "--cron", "@daily", "--kind", "k", "--tag", ""},
	} {
		c.fails(exitUsage, []string{text}, append([]string{"schedules", "put"}, args...)...)
	}
}

// With --json, commands that change a schedule print the answer of the API.
func schedulesAnswerInJSON(t *testing.T, c *cli) {
	put := get[scheduleAnswer](c, "schedules", "put", "nightly", "--cron", "@daily", "--kind", "k")
	if put.Name != "nightly" || put.Kind != "k" || put.Spec != "@daily" || put.Status != jobs.ScheduleActive || put.Next.IsZero() {
		t.Errorf("put prints %+v", put)
	}
	run := get[struct{ ID int64 }](c, "schedules", "run", "nightly")
	if job := c.show(strconv.FormatInt(run.ID, 10)).Job; job.Schedule() != "nightly" {
		t.Errorf("run prints %+v, of the job %+v", run, job)
	}
	for _, test := range []struct {
		command string
		want    schedulePausing
		state   string
	}{
		{"pause", schedulePausing{"nightly", true, true}, jobs.SchedulePaused}, {"pause", schedulePausing{"nightly", true, false}, jobs.SchedulePaused},
		{"resume", schedulePausing{"nightly", false, true}, jobs.ScheduleActive}, {"resume", schedulePausing{"nightly", false, false}, jobs.ScheduleActive},
	} {
		if have := get[schedulePausing](c, "schedules", test.command, "nightly"); have != test.want {
			t.Errorf("%s prints %+v, not %+v", test.command, have, test.want)
		}
		if list := get[[]scheduleAnswer](c, "schedules"); len(list) != 1 || list[0].Status != test.state {
			t.Errorf("after %s the list is %+v", test.command, list)
		}
		if shown := get[struct{ Schedule scheduleAnswer }](c, "schedules", "show", "nightly"); shown.Schedule.Status != test.state {
			t.Errorf("after %s it is shown as %+v", test.command, shown)
		}
	}
	if text := c.ok("schedules", "delete", "nightly", "--json"); text != "{\n  \"schedule\": \"nightly\",\n  \"deleted\": true\n}\n" {
		t.Errorf("delete prints %s", text)
	}
	c.fails(exitFailure, []string{"no such schedule", `"nightly"`}, "schedules", "delete", "nightly", "--json")
}

// With --json the note of a tick that a change of the clock moves is on standard error, and the document is a list of times.
func TestSchedulesNextInJSONSaysWhatIsMoved(t *testing.T) {
	c := newCLI(t)
	for from, note := range map[string]string{
		"2026-03-29T00:00:00Z": "2026-03-29T03:00:00+02:00  moved: the clock is set forward past its time\n",
		"2026-10-25T00:00:00Z": "2026-10-25T02:30:00+02:00  the first of two: the clock is set back\n",
		"2026-11-25T00:00:00Z": "",
	} {
		a := c.run("schedules", "next", "30 2 * * *", "--zone", "Europe/Berlin", "-n", "2", "--from", from, "--json")
		var list []time.Time
		fromJSON(t, a.out, &list)
		if a.code != exitOK || len(list) != 2 || a.err != note {
			t.Errorf("from %s on there are %v, with exit code %d and\n%s", from, list, a.code, a.err)
		}
	}
}

func TestSchedulesNext(t *testing.T) {
	c := newCLI(t)
	for _, test := range []struct {
		want string
		args []string
	}{
		{"2026-03-28T02:30:00+01:00\n2026-03-29T03:00:00+02:00  moved: the clock is set forward past its time\n",
			[]string{"30 2 * * *", "--zone", "Europe/Berlin", "-n", "2", "--from", "2026-03-28T00:00:00Z"}},
		{"2026-10-25T02:30:00+02:00  the first of two: the clock is set back\n2026-10-26T02:30:00+01:00\n",
			[]string{"30 2 * * *", "--zone", "Europe/Berlin", "-n", "2", "--from", "2026-10-24T12:00:00Z"}},
		{"2026-10-25T02:30:00+02:00\n2026-10-25T02:30:00+01:00\n",
			[]string{"30 */2 * * *", "--zone", "Europe/Berlin", "-n", "2", "--from", "2026-10-25T00:00:00Z"}},
		{"9999-12-31T00:00:00Z\n", []string{"@daily", "-n", "3", "--from", "9999-12-30T00:00:00Z"}}, // the last that RFC 3339 can say
		{"2026-01-01T00:00:05Z\n", []string{"5 0 0 * * *", "-n", "1", "--from", "2026-01-01T00:00:00Z"}},
		{"2026-01-01T00:01:30Z\n", []string{"--every", "90s", "-n", "1", "--from", "2026-01-01T00:00:00Z"}},
	} {
		if have := c.ok(append([]string{"schedules", "next"}, test.args...)...); have != test.want {
			t.Errorf("%q prints\n%s, not\n%s", test.args, have, test.want)
		}
	}
	var list []string
	if err := json.Unmarshal([]byte(c.ok("schedules", "next", "@daily", "--from", "2026-01-01T00:00:00Z", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 5 || list[4] != "2026-01-06T00:00:00Z" || !slices.IsSorted(list) {
		t.Errorf("the list is %q", list)
	}
	if first := c.ok("schedules", "next", "* * * * *", "-n", "1"); len(first) != len(time.RFC3339)-5+1 {
		t.Errorf("from now on it is due at %q", first)
	}
	if _, err := os.Stat(c.db); !os.IsNotExist(err) {
		t.Errorf("the command has made a database: %v", err)
	}
	for _, test := range []struct {
		code int
		text string
		args []string
	}{
		{exitUsage, "must be from 0 to 59", []string{"61 2 * * *"}},
		{exitUsage, "IANA name", []string{"@daily", "--zone", "Mars/Olympus"}},
		{exitUsage, "IANA name", []string{"@daily", "--zone", "Local"}},
		{exitUsage, "IANA name", []string{"@daily", "--zone", "localtime"}},
		{exitUsage, "IANA name", []string{"@daily", "--zone", "posixrules"}},
		{exitUsage, "IANA name", []string{"@daily", "--zone", "Factory"}},
		{exitUsage, "IANA name", []string{"@daily", "--zone", "./localtime"}},
		{exitUsage, "IANA name", []string{"@daily", "--zone", "right/Europe/Berlin"}},
		{exitUsage, "must be a whole number from 1", []string{"@daily", "-n", "0"}},
		{exitUsage, "either SPEC or --every", []string{"@daily", "--every", "1m"}},
		{exitUsage, "give a SPEC", nil},
		{exitUsage, "whole seconds", []string{"--every", "1500ms"}},
		{exitUsage, "--zone is for a SPEC", []string{"--every", "1m", "--zone", "Europe/Berlin"}},
		{exitUsage, "--from must be from 1973-03-03T09:46:40Z to 9999-12-31T23:59:59Z, not 0001-01-01", []string{"@daily", "--from", "0001-01-01T00:00:00Z"}},
		{exitUsage, "--from must be from", []string{"@daily", "--from", "1973-03-03T09:46:39Z"}},
		{exitUsage, "--from must be from", []string{"@daily", "--from", "9999-12-31T23:59:59-01:00"}},
		{exitUsage, `not '\n'`, []string{"0 2 * *\n*"}},
		{exitFailure, "not due within forty years", []string{"*/5 2 * 3 sunL", "--zone", "Europe/Berlin"}},
	} {
		c.fails(test.code, []string{test.text}, append([]string{"schedules", "next"}, test.args...)...)
	}
}
