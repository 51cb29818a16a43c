package main

import (
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// The commands of limits show a sequence that a failed job holds, and resume it.
func limitsOrdered(t *testing.T, c *cli) {
	c.ok("up")
	if out := c.ok("limits", "set", "charge", "--ordered"); out != `limit of kind "charge", each key: set`+"\n" {
		t.Errorf("an order is set with %q", out)
	}
	if out := c.ok("limits"); !strings.Contains(out, "in order, on fail hold") || !strings.Contains(out, "0 of 1 each") {
		t.Errorf("the limits are\n%s", out)
	}
	failed := strings.TrimSpace(c.ok("enqueue", "charge", "--limit-key", "acme", "--max-attempts", "1"))
	held := strings.TrimSpace(c.ok("enqueue", "charge", "--limit-key", "acme"))
	c.run("work", "--drain", "--exec", "charge=false")
	if page := get[inspect.LimitKeyPage](c, "limits", "keys", "charge"); len(page.Keys) != 1 || page.Keys[0].HeldBy == 0 || page.Keys[0].Waiting != 1 {
		t.Errorf("the keys are %+v", page)
	}
	if out := c.ok("limits", "keys", "charge"); !strings.Contains(out, "held: job "+failed+" has failed") {
		t.Errorf("the keys are\n%s", out)
	}
	if out := c.ok("why", held); !strings.Contains(out, "job "+failed+" has failed") {
		t.Errorf("why prints\n%s", out)
	}
	for _, want := range []string{"resumed", "no failed job holds it"} {
		if out := c.ok("limits", "resume", "charge", "acme"); out != `sequence of kind "charge", key "acme": `+want+"\n" {
			t.Errorf("a sequence is resumed with %q", out)
		}
	}
	if answer := get[limitAnswer](c, "limits", "resume", "charge", "acme"); answer.Changed {
		t.Errorf("a sequence is resumed once more: %+v", answer)
	}
	if out := c.ok("audit"); strings.Count(out, "resume sequence") != 1 {
		t.Errorf("the audit log is\n%s", out)
	}
}

// The commands obey a bounded backlog.
func limitsDepth(t *testing.T, c *cli) {
	c.ok("up")
	c.ok("limits", "set", "charge", "--depth", "1")
	c.enqueue("charge", "--limit-key", "acme")
	c.fails(exitFailure, []string{"1 jobs of the kind", "acme"}, "enqueue", "charge", "--limit-key", "acme")
	c.ok("limits", "set", "charge", "--depth", "1", "--on-full", "drop")
	if a := c.run("enqueue", "charge", "--limit-key", "acme"); a.code != exitOK || a.out != "" || !strings.Contains(a.err, "no job was added") {
		t.Errorf("a dropped job: %+v", a)
	}
	if receipt := get[map[string]any](c, "enqueue", "charge", "--limit-key", "acme"); receipt["dropped"] != true {
		t.Errorf("the receipt of a dropped job is %v", receipt)
	}
	if list := get[[]jobs.LimitInfo](c, "limits"); len(list) != 1 || list[0].LimitValues != (jobs.LimitValues{Depth: 1, OnFull: jobs.OnFullDrop}) {
		t.Errorf("the limits are %+v", list)
	}

	c.ok("limits", "set", "--queue", "mail", "--depth", "1")
	c.enqueue("letter", "--queue", "mail")
	c.fails(exitFailure, []string{"1 jobs of the queue", "mail"}, "enqueue", "letter", "--queue", "mail")
	c.ok("limits", "set", "--queue", "mail", "--depth", "2", "--on-full", "drop")
	a := c.runWith(strings.NewReader("{}\n{}\n"), "enqueue", "letter", "--queue", "mail", "--stdin")
	if a.code != exitOK || strings.Count(a.out, "\n") != 1 || !strings.Contains(a.err, "1 of 2 jobs were not added") {
		t.Errorf("jobs of which one is dropped: %+v", a)
	}
}
