package main

import (
	"os"
	"os/exec"
	"path/filepath"
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

// The script for bash, in a bash, completes the name of a queue.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("NOT TESTED: the completion in a shell: ", err)
	}
	c := newCLI(t)
	c.ok("enqueue", "resize", "--queue", "images")
	c.ok("enqueue", "mail", "--queue", "post")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "sqluice")
	if err := os.Symlink(binary, program); err != nil {
		t.Skip("NOT TESTED: the completion in a shell: ", err)
	}
	for line, want := range map[string]string{"queues pause im": "images", "queues pause ": "images\npost", "enqueue re": "resize", "queu": "queues"} {
		cmd := exec.CommandContext(t.Context(), bash, append([]string{"testdata/complete.sh", program}, strings.Split(line, " ")...)...)
		cmd.Env = append(os.Environ(), asCommand+"=1", "SQLUICE_DB="+c.db, "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		words := strings.Fields(string(out))
		slices.Sort(words)
		if have := strings.Join(words, "\n"); err != nil || have != want {
			t.Errorf("%q is completed by %q, not %q: %v\n%s", line, have, want, err, stderr.String())
		}
	}
}
