package main

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// The report has the cause decode for a job whose payload is not of its handler's type, beside jobs with other causes.
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
	for _, line := range []string{`(?m)^JOBS +KIND +CAUSE .* ERROR$`, `(?m)^1 +letter +decode .* decode payload as `, `(?m)^1 +bad +error .*broken`} {
		if !regexp.MustCompile(line).MatchString(out) {
			t.Errorf("%s is no line of\n%s", line, out)
		}
	}
}

// Errors that differ by a number are one line, which --texts unfolds; the JSON document has the errors in any case.
func TestFailedReportUnfolds(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	store, err := sqlite.Open(t.Context(), c.db)
	if err != nil {
		t.Fatal(err)
	}
	client := jobs.New(store)
	for _, row := range []string{"7", "12", "12"} {
		if _, err := client.Enqueue(t.Context(), "import", []byte(row), jobs.MaxAttempts(1)); err != nil {
			t.Fatal(err)
		}
	}
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	jobs.Kind[int]{Name: "import"}.Handle(runner, func(_ context.Context, _ jobs.Job, row int) error {
		return fmt.Errorf("row %d of %q is bad", row, "a.csv")
	})
	if err := runner.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	one := `(?m)^3 +import +error .* row # of "…" is bad$`
	if out := c.ok("failed"); !regexp.MustCompile(one).MatchString(out) || strings.Count(out, "\n") != 2 {
		t.Errorf("the report is\n%s", out)
	}
	out := c.ok("failed", "--texts")
	for _, line := range []string{one, `(?m)^ +2 .* row 12 of "a.csv" is bad$`, `(?m)^ +1 .* row 7 of "a.csv" is bad$`} {
		if !regexp.MustCompile(line).MatchString(out) {
			t.Errorf("%s is no line of\n%s", line, out)
		}
	}
	if groups := get[[]inspect.FailedGroup](c, "failed"); len(groups) != 1 || groups[0].Pattern != `row # of "…" is bad` || len(groups[0].Texts) != 2 {
		t.Errorf("the report is %+v", groups)
	}
}
