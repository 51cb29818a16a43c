package main

import (
	"context"
	"log/slog"
	"regexp"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// A job that failed because its payload is not of its handler's type is reported with the cause decode, beside those of other causes.
func TestFailedReportNamesTheCause(t *testing.T) {
	c := newCLI(t)
	c.enqueue("letter", `{"to": 7}`, "--max-attempts", "1")
	c.enqueue("bad", "{}")
	c.ok("work", "--drain", "--exec", execFlag(t, "bad", "fail", "65", "broken", "1"))
	store, err := sqlite.Open(t.Context(), c.db)
	if err != nil {
		t.Fatal(err)
	}
	runner, err := jobs.NewRunner(jobs.New(store), jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	jobs.Kind[struct{ To string }]{Name: "letter"}.Handle(runner, func(context.Context, jobs.Job, struct{ To string }) error { return nil })
	if err := runner.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	causes := map[string]jobs.Cause{}
	for _, g := range get[[]inspect.FailedGroup](c, "failed") {
		causes[g.Kind] = g.Cause
	}
	if len(causes) != 2 || causes["letter"] != jobs.CauseDecode || causes["bad"] != jobs.CauseError {
		t.Errorf("the causes are %v", causes)
	}
	out := c.ok("failed")
	for _, line := range []string{`(?m)^JOBS .* CAUSE +ERROR$`, `(?m)^1 +letter .* decode +decode payload as `, `(?m)^1 +bad .* error +.*broken`} {
		if !regexp.MustCompile(line).MatchString(out) {
			t.Errorf("%s is no line of\n%s", line, out)
		}
	}
}
