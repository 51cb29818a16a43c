package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func retention(t *testing.T, c *cli) {
	c.ok("up")
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"set", "30d", "--kind", "k"}, "rule for done jobs of kind \"k\": set\n"},
		{[]string{"set", "720h", "--kind", "k", "--status", "done"}, "rule for done jobs of kind \"k\": no change\n"},
		{[]string{"set", "forever", "--queue", "q", "--status", "failed"}, "rule for failed jobs of queue \"q\": set\n"},
		{[]string{"set", "1h", "--status", "cancelled"}, "rule for cancelled jobs: set\n"},
		{[]string{"remove", "--status", "cancelled"}, "rule for cancelled jobs: removed\n"},
		{[]string{"remove", "--status", "cancelled"}, "rule for cancelled jobs: there is none\n"},
	} {
		if out := c.ok(append([]string{"retention"}, step.args...)...); out != step.want {
			t.Errorf("%v prints %q, want %q", step.args, out, step.want)
		}
	}
	rules := get[[]inspect.RetentionRule](c, "retention")
	if len(rules) != 2 || rules[0].Kind != "k" || rules[0].Keep != 720*time.Hour || rules[1].Queue != "q" || rules[1].Keep != jobs.Forever {
		t.Errorf("the rules are %+v", rules)
	}
	if out := c.ok("retention"); !strings.Contains(out, "30d") || !strings.Contains(out, "forever") || strings.Count(out, "(all)") != 2 {
		t.Errorf("the rules are\n%s", out)
	}
	id := c.enqueue("k")
	c.ok("work", "--drain", "--exec", execFlag(t, "k", "echo"))
	if out := c.ok("why", id); !strings.Contains(out, "it is kept until ") {
		t.Errorf("why prints\n%s", out)
	}
	for text, args := range map[string][]string{
		"KEEP": {"set", "0"}, "or forever": {"set", "soon"}, "876000h": {"set", "36501d"}, "--status": {"set", "1h", "--status", "running"}, "--kind": {"set", "1h", "--kind", "a\x1bb"},
	} {
		c.fails(exitUsage, []string{text}, append([]string{"retention"}, args...)...)
	}
}
