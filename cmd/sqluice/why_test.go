package main

import (
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func why(t *testing.T, c *cli) {
	c.ok("up")
	c.enqueue("k", "--in", "1h")
	if out := c.ok("why", "1"); !strings.Contains(out, "not-due: it is due at") || !strings.Contains(out, `no-worker: no live worker takes jobs of the kind "k"`) {
		t.Errorf("why prints %q", out)
	}
	if d := get[inspect.Diagnosis](c, "why", "1"); d.Job != 1 || d.Status != jobs.StatusScheduled || len(d.Findings) != 2 {
		t.Errorf("why is %+v", d)
	}
	c.fails(exitFailure, []string{"job 2", "no such job"}, "why", "2")
	c.fails(exitUsage, []string{"ID", "--schedule"}, "why")
	c.fails(exitUsage, []string{"ID", "--schedule"}, "why", "1", "--schedule", "s")
	c.fails(exitFailure, []string{`schedule "s"`, "no such schedule"}, "why", "--schedule", "s")
	c.ok("schedules", "put", "s", "--cron", "@yearly", "--kind", "k")
	if out := c.ok("why", "--schedule", "s"); !strings.Contains(out, "no-worker: there is no live worker") || !strings.Contains(out, "not-due: its next tick is ") {
		t.Errorf("why of a schedule prints %q", out)
	}
	if d := get[inspect.ScheduleDiagnosis](c, "why", "--schedule", "s"); d.Schedule != "s" || d.State != jobs.ScheduleActive || len(d.Findings) != 2 {
		t.Errorf("why of a schedule is %+v", d)
	}
}
