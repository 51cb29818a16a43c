package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func limitsLive(t *testing.T, c *cli) {
	c.ok("up")
	for _, step := range []struct{ args, want string }{
		{"set charge --running 2 --rate 10/s --burst 20", `limit of kind "charge", each key: set`},
		{"set charge acme --rate 5/30s", `limit of kind "charge", key "acme": set`},
		{"set mail --rate 100/m", `limit of kind "mail", each key: set`},
		{"set mail --running 7", `limit of kind "mail", each key: set`},
		{"delete mail", `limit of kind "mail", each key: deleted`},
		{"delete mail", `limit of kind "mail", each key: there is none that was set`},
	} {
		if out := c.ok(append([]string{"limits"}, strings.Fields(step.args)...)...); out != step.want+"\n" {
			t.Errorf("limits %s prints %q, want %q", step.args, out, step.want)
		}
	}
	list := get[[]jobs.LimitInfo](c, "limits")
	for _, step := range []struct{ args, want string }{
		{"set charge --total --running 50", `limit of kind "charge", all jobs: set`},
		{"set --queue mail --rate 100/s", `limit of queue "mail": set`},
		{"set charge big --weight 3", `limit of kind "charge", key "big": set`},
	} {
		if out := c.ok(append([]string{"limits"}, strings.Fields(step.args)...)...); out != step.want+"\n" {
			t.Errorf("limits %s prints %q, want %q", step.args, out, step.want)
		}
	}
	places := map[string]bool{}
	for _, l := range get[[]jobs.LimitInfo](c, "limits") {
		places[fmt.Sprintln(l.Kind, l.Key, l.Queue, l.Total, l.Running, l.Rate.Starts, l.Weight)] = true
	}
	for _, place := range []string{"charge   false 2 10 0\n", "charge acme  false 0 5 0\n", "charge   true 50 0 0\n", "  mail false 0 100 0\n", "charge big  false 0 0 3\n"} {
		if !places[place] {
			t.Errorf("the limits lack %q: %v", place, places)
		}
	}
	if out := c.ok("limits"); !strings.Contains(out, "(all)") || !strings.Contains(out, "mail") || !strings.Contains(out, "weight 3") {
		t.Errorf("the limits are\n%s", out)
	}
	for _, args := range []string{"delete charge --total", "delete --queue mail", "delete charge big"} {
		if out := c.ok(append([]string{"limits"}, strings.Fields(args)...)...); !strings.HasSuffix(out, ": deleted\n") {
			t.Errorf("limits %s prints %q", args, out)
		}
	}
	if len(list) != 2 || list[0].LimitValues != (jobs.LimitValues{Running: 2, Rate: jobs.Per(10, time.Second), Burst: 20}) ||
		list[1].Key != "acme" || list[1].LimitValues != (jobs.LimitValues{Rate: jobs.Per(5, 30*time.Second)}) || list[1].Declared {
		t.Errorf("the limits are %+v", list)
	}
	if out := c.ok("limits"); !strings.Contains(out, "10/s, burst 20") || !strings.Contains(out, "0 of 2 each") || !strings.Contains(out, "5/30s") || !strings.Contains(out, "(each)") {
		t.Errorf("the limits are\n%s", out)
	}
	if out := c.ok("audit"); strings.Count(out, "set limit") != 7 || strings.Count(out, "delete limit") != 4 {
		t.Errorf("the audit log is\n%s", out)
	}
}

// A dry run shows what a limit would count, and changes nothing.
func limitsDryRun(t *testing.T, c *cli) {
	c.waitingKeys(t)
	c.ok("limits", "delete", "charge")
	out := c.ok("limits", "set", "charge", "acme", "--rate", "5/30s", "--dry-run")
	for _, line := range []string{"not set, as this is a dry run", "starts a minute  10\n", "running at once  any number\n", "running now      0\n", "waiting now      3\n"} {
		if !strings.Contains(out, line) {
			t.Errorf("a dry run lacks %q:\n%s", line, out)
		}
	}
	trial := get[limitAnswer](c, "limits", "set", "charge", "--running", "3", "--dry-run")
	if trial.Changed || !trial.DryRun || trial.Limit == nil || trial.Limit.WaitingJobs != 5 || trial.Limit.Running != 3 || trial.StartsPerMinute != 0 {
		t.Errorf("a dry run in JSON is %+v", trial)
	}
	c.fails(exitUsage, []string{"--burst 7", "without a rate"}, "limits", "set", "charge", "--burst", "7", "--running", "1", "--dry-run")
	if list := get[[]jobs.LimitInfo](c, "limits"); len(list) != 0 {
		t.Errorf("the dry runs have set %+v", list)
	}
	if out := c.ok("audit"); strings.Contains(out, "acme") {
		t.Errorf("the audit log has the dry run:\n%s", out)
	}
}

// waitingKeys leaves waiting jobs of the kind charge: 3 of the limit key acme and 2 of b, whose keys a handler has closed.
func (c *cli) waitingKeys(t *testing.T) {
	t.Helper()
	c.ok("up")
	c.ok("limits", "set", "charge", "--running", "1")
	c.enqueue("charge", "--limit-key", "acme")
	if a := c.runWith(strings.NewReader("1\n2\n"), "enqueue", "charge", "--stdin", "--limit-key", "acme"); a.code != exitOK {
		t.Fatal(a.err)
	}
	item := `{"kind": "charge", "limit_key": "b"}` + "\n"
	if a := c.runWith(strings.NewReader(item+item), "enqueue", "--items"); a.code != exitOK {
		t.Fatal(a.err)
	}
	d, err := address.Parse(c.db)
	if err != nil {
		t.Fatal(err)
	}
	err = (&app{db: d}).withClient(t.Context(), func(client *jobs.Client) error {
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		jobs.Kind[any]{Name: "charge"}.Handle(runner, func(context.Context, jobs.Job, any) error { return jobs.Throttle(time.Hour) })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- runner.Run(ctx) }()
		eventually(t, "both keys are closed", func() bool {
			page, err := inspect.New(client).LimitKeys(t.Context(), inspect.LimitKeyFilter{Kind: "charge"})
			return err == nil && len(page.Keys) == 2 && !page.Keys[0].ClosedUntil.IsZero() && page.Keys[0].Waiting == 3 &&
				!page.Keys[1].ClosedUntil.IsZero() && page.Keys[1].Waiting == 2
		})
		stop()
		return <-ended
	})
	if err != nil {
		t.Fatal(err)
	}
}

func limitsKeys(t *testing.T, c *cli) {
	c.waitingKeys(t)
	page := get[inspect.LimitKeyPage](c, "limits", "keys", "charge")
	if len(page.Keys) != 2 || page.Keys[0].Key != "acme" || page.Keys[0].Waiting != 3 || page.Keys[1].Key != "b" || page.Keys[1].Waiting != 2 || page.Next != "" {
		t.Errorf("the keys are %+v", page)
	}
	if out := c.ok("limits", "keys", "charge"); strings.Count(out, "closed until ") != 2 || !strings.Contains(out, "acme") {
		t.Errorf("the keys are\n%s", out)
	}
	a := c.run("limits", "keys", "charge", "--limit", "1")
	if a.code != exitOK || strings.Contains(a.out, "b ") || !strings.Contains(a.err, `--from "b"`) {
		t.Errorf("the first key is %+v", a)
	}
	if rest := get[inspect.LimitKeyPage](c, "limits", "keys", "charge", "--from", "b"); len(rest.Keys) != 1 || rest.Keys[0].Key != "b" {
		t.Errorf("the other keys are %+v", rest)
	}
	if job := c.show("1"); job.LimitKey == nil || *job.LimitKey != "acme" {
		t.Errorf("the job is %+v", job)
	}
	if out := c.ok("show", "1"); !strings.Contains(out, "limit key") {
		t.Errorf("show prints\n%s", out)
	}
	if out := c.ok("why", "1"); !strings.Contains(out, "acme") {
		t.Errorf("why prints\n%s", out)
	}
}

func TestFaultsOfLimits(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	for args, texts := range map[string][]string{
		"set":                                 {"KIND is missing"},
		"set k":                               {"--running, --rate, --weight, --depth or --ordered"},
		"set k --weight 1001 --running 1":     {`--weight "1001"`, "from 1 to 1000"},
		"set k --total --weight 2":            {"--weight 2", "only the keys of a kind"},
		"set k --total --ordered":             {"--ordered", "only the jobs of a key"},
		"set k --total --depth 3":             {"--depth 3", "and not a whole kind"},
		"set k --ordered --running 2":         {"--running 2", "in order"},
		"set k --ordered --on-fail wait":      {`--on-fail "wait"`, "hold, skip or cancel"},
		"set k --running 1 --on-fail skip":    {`--on-fail "skip"`, "without an order"},
		"set k --depth 1 --on-full wait":      {`--on-full "wait"`, "refuse or drop"},
		"set k --running 1 --on-full drop":    {`--on-full "drop"`, "without a depth"},
		"resume k":                            {"KEY is missing"},
		"set k --queue q --running 1":         {"--queue", "KIND or --total"},
		"set --total --queue q --running 1":   {"--queue", "KIND or --total"},
		"set --queue= --running 1":            {`--queue ""`, "empty"},
		"set k key --total --running 1":       {"--total", "KEY"},
		"delete k --queue q":                  {"--queue", "KIND or --total"},
		"set k key more --running 1":          {`"more"`, "KIND and KEY"},
		"set k --running 0":                   {`--running "0"`, "from 1 to 1000000000"},
		"set k --running x":                   {`--running "x"`, "from 1 to 1000000000"},
		"set k --rate 10":                     {`--rate "10"`, "10/s, 100/m, 5/30s or 1000/d"},
		"set k --rate 0/s":                    {`--rate "0/s"`, "from 1 to 1000000"},
		"set k --rate 1/2d":                   {`--rate "1/2d"`, "after the slash"},
		"set k --rate 1/25h":                  {`--rate "1/25h"`, "from 1ms to 1d"},
		"set k --rate 1000000/1ms":            {`--rate "1000000/1ms"`, "one start in a microsecond"},
		"set k --running 1 --burst 2":         {"--burst 2", "without a rate"},
		"set k --burst 0":                     {`--burst "0"`, "from 1 to 1000000"},
		"set a\x1bb --running 1":              {"KIND", "control"},
		"set k a\x1bb --running 1":            {"KEY", "control"},
		"set k " + long(201) + " --running 1": {"KEY", "200"},
		"delete":                              {"KIND is missing"},
		"keys":                                {"KIND is missing"},
		"keys k --limit 0":                    {`--limit "0"`, "from 1 to 1000"},
		"nosuch":                              {`unknown command "nosuch"`},
	} {
		c.fails(exitUsage, texts, append([]string{"limits"}, strings.Fields(args)...)...)
	}
	c.fails(exitUsage, []string{"KEY must not be empty"}, "limits", "set", "k", "", "--running", "1")
	c.fails(exitUsage, []string{"--limit-key", "200"}, "enqueue", "k", "--limit-key", long(201))
	c.fails(exitUsage, []string{"--limit-key", "--items"}, "enqueue", "--items", "--limit-key", "x")
	if list := get[[]jobs.LimitInfo](c, "limits"); len(list) != 0 {
		t.Errorf("the limits are %+v", list)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestChangesOfLimitsInJSON(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	for _, step := range []struct {
		command string
		changed bool
	}{{"set k --running 1", true}, {"set k --running 1", true}, {"delete k", true}, {"delete k", false}} {
		if got := get[limitAnswer](c, append([]string{"limits"}, strings.Fields(step.command)...)...); got != (limitAnswer{Changed: step.changed}) {
			t.Errorf("%s: %+v", step.command, got)
		}
	}
	if out := c.ok("limits", "list", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("no limits are %q", out)
	}
}
