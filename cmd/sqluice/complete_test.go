package main

import (
	"slices"
	"strings"
	"testing"
)

func completionTests() tests { return tests{"Completion": namesAreCompleted} }

// What a shell asks for when a word is typed: names that the database knows.
func namesAreCompleted(t *testing.T, c *cli) {
	c.ok("enqueue", "resize", "--queue", "images")
	c.ok("enqueue", "mail", "--queue", "post")
	c.ok("schedules", "put", "nightly", "--cron", "@daily", "--kind", "mail")
	for line, want := range map[string][]string{
		"queues pause |":              {"images", "post"},
		"queues pause im|":            {"images"},
		"queues resume images |":      nil,
		"list --queue |":              {"images", "post"},
		"list --queue=po|":            {"post"},
		"failed --kind |":             {"mail", "resize"},
		"enqueue |":                   {"mail", "resize"},
		"enqueue mail |":              nil,
		"schedules run |":             {"nightly"},
		"schedules delete n|":         {"nightly"},
		"schedules put x --kind r|":   {"resize"},
		"sensitive mark |":            {"mail", "resize"},
		"retention set 1h --queue p|": {"post"},
	} {
		words := strings.Split(strings.TrimSuffix(line, "|"), " ")
		answer := strings.Split(strings.TrimSpace(c.ok(append([]string{"__complete"}, words...)...)), "\n")
		have, directive := answer[:len(answer)-1], answer[len(answer)-1]
		slices.Sort(have)
		if !slices.Equal(have, want) || directive != ":4" { // no names of files
			t.Errorf("%s is completed by %q %s, not %q", line, have, directive, want)
		}
	}
}

// Without a database nothing is completed, and none is made.
func TestCompletionWithoutADatabase(t *testing.T) {
	c := newCLI(t)
	if out := c.ok("__complete", "queues", "pause", ""); strings.TrimSpace(out) != ":1" {
		t.Errorf("the answer is %q", out)
	}
	c.fails(exitFailure, []string{c.db}, "status")
}

func TestCompletionScripts(t *testing.T) {
	c := newCLI(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if script := c.ok("completion", shell); !strings.Contains(script, "__complete") {
			t.Errorf("the script for %s is %q", shell, script)
		}
	}
}
