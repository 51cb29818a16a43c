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

// show names the worker of an attempt that runs, and the attempts that were snoozed or released, between those that failed.
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
	check := func(when string, unrecorded []inspect.AttemptRange, lines ...string) {
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
		if have := c.show(id).Unrecorded; !slices.Equal(have, unrecorded) {
			t.Errorf("%s: the attempts without a record are %v, not %v", when, have, unrecorded)
		}
	}
	const end = "snoozed, released or cancelled"
	check("before", nil)

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
	check("while it runs", []inspect.AttemptRange{{First: 1, Last: 2}, {First: 4, Last: 4}},
		"attempts 1 to 2: "+end, failed, "attempt 4: "+end, "attempt 5: running, started .*, worker first-worker, host .+")

	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	check("after its release", []inspect.AttemptRange{{First: 1, Last: 2}, {First: 4, Last: 5}},
		"attempts 1 to 2: "+end, failed, fmt.Sprintf("attempts 4 to 5: %s, the last one started .*", end))

	if err := worker("second-worker").Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("at its end", []inspect.AttemptRange{{First: 1, Last: 2}, {First: 4, Last: 5}},
		"attempts 1 to 2: "+end, failed, "attempts 4 to 5: "+end, "attempt 6: done .*, started .*, worker second-worker, host .+")
}
