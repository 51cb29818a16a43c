package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// show names the worker of the running attempt, and lists snoozed and released attempts between the failed ones.
func TestShowEveryAttempt(t *testing.T) {
	c := newCLI(t)
	id := c.enqueue("k")
	store, err := sqlite.Open(t.Context(), c.db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	client := jobs.New(store)
	fifth := make(chan struct{}) // closed when the fifth attempt runs
	worker := func(name string) *jobs.Runner {
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler), Name: name, Grace: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		kind := jobs.Kind[struct{}]{Name: "k", RetryDelay: jobs.FixedRetry(0)}
		kind.Handle(runner, func(ctx context.Context, job jobs.Job, _ struct{}) error {
			switch job.Attempt {
			case 1, 2, 4:
				return jobs.Snooze(0)
			case 3:
				return errors.New("broken")
			case 5:
				close(fifth)
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		})
		return runner
	}
	check := func(when string, lines ...string) {
		t.Helper()
		out := c.ok("show", id)
		for _, line := range lines {
			if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(out) {
				t.Errorf("%s: %s is no line of\n%s", when, line, out)
			}
		}
		if have := len(regexp.MustCompile(`(?m)^attempts? \d`).FindAllString(out, -1)); have != len(lines) {
			t.Errorf("%s: %d lines about attempts, not %d:\n%s", when, have, len(lines), out)
		}
		if have := c.show(id).Unrecorded; len(have) != 0 {
			t.Errorf("%s: the attempts without a record are %v", when, have)
		}
	}
	const snoozed = "attempt %d: snoozed .*, started .*, worker first-worker, host .+"
	check("before")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker("first-worker").Run(ctx) }()
	select {
	case <-fifth:
	case <-time.After(hangGuard):
		t.Fatal("the fifth attempt does not begin")
	}
	failed := `attempt 3: error .*, started .*, worker first-worker, host .+`
	first := []string{fmt.Sprintf(snoozed, 1), fmt.Sprintf(snoozed, 2), failed, fmt.Sprintf(snoozed, 4)}
	check("while it runs", append(slices.Clone(first), "attempt 5: running, started .*, worker first-worker, host .+")...)

	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	first = append(first, "attempt 5: released .*, started .*, worker first-worker, host .+")
	check("after its release", first...)

	if err := worker("second-worker").Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("at its end", append(first, "attempt 6: done .*, started .*, worker second-worker, host .+")...)
	if d := c.show(id); len(d.Errors) != 1 || len(d.Others) != 4 || d.Others[3].Cause != jobs.CauseReleased {
		t.Errorf("the failed attempts are %+v, the others %+v", d.Errors, d.Others)
	}
}

// Old attempts that did not fail are shown by their numbers.
func TestShowAttemptsOfLongAgo(t *testing.T) {
	c := newCLI(t)
	id := c.enqueue("k")
	store, err := sqlite.Open(t.Context(), c.db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	runner, err := jobs.NewRunner(jobs.New(store), jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	jobs.Kind[struct{}]{Name: "k", RetryDelay: jobs.FixedRetry(0)}.Handle(runner, func(_ context.Context, job jobs.Job, _ struct{}) error {
		switch {
		case job.Attempt == 3:
			return errors.New("broken")
		case job.Attempt < inspect.KeptAttempts+15:
			return jobs.Snooze(0)
		}
		return nil
	})
	if err := runner.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := c.ok("show", id)
	for _, line := range []string{"attempts 1 to 2: not recorded", "attempt 3: error .*", "attempts 4 to 10: not recorded", "attempt 11: snoozed .*", "attempt 115: done .*"} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(out) {
			t.Errorf("%s is no line of\n%s", line, out)
		}
	}
	if have, want := c.show(id).Unrecorded, []inspect.AttemptRange{{First: 1, Last: 2}, {First: 4, Last: 10}}; !slices.Equal(have, want) {
		t.Errorf("the attempts without a record are %v, not %v", have, want)
	}
}
