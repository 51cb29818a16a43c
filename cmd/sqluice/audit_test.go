package main

import (
	"os/user"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func auditTests() tests {
	return tests{"ChangesAreNoted": changesAreNoted, "SensitiveFieldsAreNotPrinted": sensitiveFieldsAreNotPrinted}
}

// changesAreNoted: each command that changes something makes an audit entry with the user's name, and no other command does.
func changesAreNoted(t *testing.T, c *cli) {
	c.enqueue("k")
	c.enqueue("k", `{"a": 1}`)
	c.ok("list")
	c.ok("cancel", "1", "2")
	c.ok("retry", "1")
	c.ok("delete", "2")
	c.ok("queues", "pause", "q")
	c.ok("queues", "pause", "q") // changes nothing
	c.ok("queues", "resume", "q")
	c.ok("cancel", "1")
	c.ok("prune", "--older-than", "0s")
	c.ok("sensitive", "mark", "k", "*")
	c.ok("sensitive", "unmark", "k", "*")
	c.ok("work", "--drain", "--exec", execFlag(t, "k", "echo")) // changes of a worker have no actor

	name := "cli:unknown"
	if u, err := user.Current(); err == nil {
		name = "cli:" + u.Username
	}
	entries := get[[]inspect.AuditEntry](c, "audit")
	var actions []string
	for _, e := range slices.Backward(entries) {
		actions = append(actions, string(e.Action))
		if e.Actor != name {
			t.Errorf("%s is noted as a change by %s, not %s", e.Action, e.Actor, name)
		}
	}
	want := "enqueue enqueue cancel cancel retry delete pause resume cancel prune mark unmark"
	if have := strings.Join(actions, " "); have != want {
		t.Errorf("the entries are %s, not %s", have, want)
	}
	if list := get[[]inspect.AuditEntry](c, "audit", "--job", "2"); len(list) != 3 || list[0].Action != inspect.ActionDelete || list[0].Kind != "k" {
		t.Errorf("the entries of a job are %+v", list)
	}
	if list := get[[]inspect.AuditEntry](c, "audit", "--actor", name, "--action", "pause", "--since", "1h"); len(list) != 1 || list[0].Queue != "q" {
		t.Errorf("the entries of a pause are %+v", list)
	}
	a := c.run("audit", "--limit", "2")
	if a.code != exitOK || !strings.Contains(a.out, "unmark") || !strings.Contains(a.out, "kind k") || !strings.Contains(a.err, "--after") {
		t.Errorf("a page is\n%s%s", a.out, a.err)
	}
	for _, args := range [][]string{{"--job", "x"}, {"--limit", "0"}, {"--actor", "a\nb"}, {"--since", "now"}} {
		if a := c.run(append([]string{"audit"}, args...)...); a.code != exitUsage {
			t.Errorf("audit %q ends with %d: %s", args, a.code, a.err)
		}
	}
}

// sensitiveFieldsAreNotPrinted looks for a secret in the output of commands and of a worker about jobs that hold it.
func sensitiveFieldsAreNotPrinted(t *testing.T, c *cli) {
	c.ok("up")
	c.ok("sensitive", "mark", "pay", "card.number", "result:*")
	payload := `{"card": {"number": "the Secret"}, "open": "tea"}`
	silently := func(codes []int, args ...string) answer {
		t.Helper()
		a := c.run(args...)
		silent(t, strings.Join(args, " "), a, codes...)
		return a
	}
	fine := []int{exitOK}
	silently(fine, "enqueue", "pay", payload)
	silently(fine, "enqueue", "pay", payload)
	for _, bad := range []string{`{"card": "the secret`, `the secret`, `{"a": "the secret"}}`} {
		silently([]int{exitUsage}, "enqueue", "pay", bad)
	}
	if a := silently(fine, "show", "1"); !strings.Contains(a.out, jobs.Redacted) || !strings.Contains(a.out, "tea") {
		t.Errorf("a job is shown as\n%s", a.out)
	}
	silently(fine, "cancel", "2")
	worker := c.run("work", "--drain", "--log-level", "debug", "--exec", execFlag(t, "pay", "echo"))
	silent(t, "work", worker, exitOK)
	for _, args := range [][]string{
		{"show", "1", "--json"}, {"show", "1"}, {"list", "--json"}, {"list"}, {"why", "1"}, {"wait", "1", "--timeout", "1m"}, {"wait", "1", "--json", "--timeout", "1m"},
		{"failed"}, {"failed", "--all", "--json"}, {"stats", "--json"}, {"queues", "--json"}, {"audit", "--json"}, {"audit"},
		{"sensitive"}, {"sensitive", "--json"}, {"retry", "2"}, {"cancel", "2"}, {"delete", "2"}, {"prune", "--older-than", "7d"},
	} {
		silently(fine, args...)
	}
	job := get[jobDetails](c, "show", "1")
	if job.Status != jobs.StatusDone || string(job.Result) != `"`+jobs.Redacted+`"` || !strings.Contains(string(job.Payload), "tea") {
		t.Errorf("the job is %s, with %s and %s", job.Status, job.Payload, job.Result)
	}
	p, url := c.serving(nil)
	for _, path := range []string{"/jobs", "/jobs/1", "/failed", "/audit"} {
		status, text := fetch(t, "GET", url+path, "", "")
		if status != 200 || strings.Contains(strings.ToLower(text), "secret") {
			t.Errorf("%s is answered with %d %s", path, status, text)
		}
	}
	silent(t, "serve", answer{exitOK, p.out.String(), p.errs.String()}, exitOK)
	c.fails(exitUsage, []string{"FIELD", "a..b"}, "sensitive", "mark", "k", "a..b")
	if fields := get[map[string][]string](c, "sensitive"); len(fields) != 1 || len(fields["pay"]) != 2 {
		t.Errorf("marked fields are %v", fields)
	}
	if a := c.ok("sensitive", "unmark", "pay", "card.number"); !strings.Contains(a, "1 unmarked") {
		t.Errorf("unmark says %s", a)
	}
	if out := c.ok("show", "1"); !strings.Contains(out, "the Secret") {
		t.Errorf("a job is shown as\n%s", out)
	}
}
