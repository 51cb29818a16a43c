package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var retryTests = []test{
	{"UntilAttemptsAreUsedUp", testAttemptsUsedUp},
	{"DefaultDelay", testDefaultDelay},
	{"DelayOfTheKind", testKindDelay},
	{"RetryIn", testRetryIn},
	{"DelayIsCut", testDelayIsCut},
	{"LogSaysWhen", testLogSaysWhen},
}

func testAttemptsUsedUp(f *fixture) {
	var left []int
	job := f.one(func(_ context.Context, job jobs.Job) error {
		left = append(left, job.AttemptsLeft())
		return fmt.Errorf("attempt %d", job.Attempt)
	}, jobs.MaxAttempts(3))
	want(f, "status", job.Status, jobs.StatusFailed)
	want(f, "attempt", job.Attempt, 3)
	want(f, "last error", job.LastError, "attempt 3")
	want(f, "attempts left", fmt.Sprint(left), "[2 1 0]")
	list := f.errors(job.ID)
	want(f, "number of errors", len(list), 3)
	for i, e := range list {
		want(f, "attempt", e.Attempt, i+1)
		want(f, "message", e.Message, fmt.Sprintf("attempt %d", i+1))
	}
}

// delay runs a job that fails once and returns its delay.
func (f *fixture) delay(kind jobs.Kind[json.RawMessage], err error) time.Duration {
	f.Helper()
	id := f.enqueue(kind.Name)
	f.drain(jobs.Config{}, onKind(kind, func(context.Context, jobs.Job) error { return err }))
	job := f.get(id)
	want(f, "status", job.Status, jobs.StatusScheduled)
	return job.RunAfter.Sub(job.UpdatedAt)
}

func testDefaultDelay(f *fixture) {
	id := f.enqueue("k", jobs.Tags("t"))
	// The delay of the first attempt is about a second: the job may be due again before the drain ends.
	started := make(chan int, 10)
	f.start(jobs.Config{}, onKind(jobs.Kind[json.RawMessage]{Name: "k"}, func(_ context.Context, job jobs.Job) error {
		started <- job.Attempt
		return errors.New("failed")
	}))
	receive(f, "the first attempt", started)
	receive(f, "the second attempt", started)
	job := f.becomes(id, jobs.StatusScheduled)
	delay := job.RunAfter.Sub(job.UpdatedAt)
	if job.Attempt != 2 || delay < 14400*time.Millisecond || delay > 17600*time.Millisecond {
		f.Errorf("after attempt %d the delay is %s, not 16 s and 10 %% more or less", job.Attempt, delay)
	}
}

func testKindDelay(f *fixture) {
	kind := jobs.Kind[json.RawMessage]{Name: "k", RetryDelay: func(job jobs.Job, _ error) time.Duration { return time.Duration(job.Counted()) * time.Hour }}
	want(f, "delay", f.delay(kind, errors.New("failed")), time.Hour)
}

func testRetryIn(f *fixture) {
	want(f, "delay", f.delay(again("k"), jobs.RetryIn(time.Minute, errors.New("later"))), time.Minute)
	list, err := inspect.New(f.client).List(f.ctx, inspect.Filter{})
	f.must(err)
	want(f, "last error", list[0].LastError, "later")
	want(f, "uncounted", list[0].Uncounted, 0)
	f.wantError(list[0].ID, jobs.CauseError, "later")

	id := f.enqueue("last", jobs.MaxAttempts(1))
	f.drain(jobs.Config{}, on("last", func(context.Context, jobs.Job) error { return jobs.RetryIn(0, nil) }))
	want(f, "status after the last attempt", f.get(id).Status, jobs.StatusFailed)
}

func testDelayIsCut(f *fixture) {
	if delay := f.delay(again("k"), jobs.Snooze(1<<63-1)); delay < 200*365*24*time.Hour {
		f.Errorf("the longest delay became %s", delay)
	}
}

// testLogSaysWhen checks that the log of a failed attempt says after what time the job is retried, or that it is not.
func testLogSaysWhen(f *fixture) {
	failure := func(context.Context, jobs.Job) error { return errors.New("broken") }
	kind := func(name string, delay time.Duration) jobs.Kind[json.RawMessage] {
		return jobs.Kind[json.RawMessage]{Name: name, RetryDelay: jobs.FixedRetry(delay)}
	}
	for name, test := range map[string]struct {
		handle      handle
		maxAttempts int
		want        string // of the line
		status      jobs.Status
	}{
		"the delay of the kind": {onKind(kind("k", 90*time.Minute+time.Millisecond+time.Microsecond), failure), 2, "retry_in=1h30m0.001s", jobs.StatusScheduled},
		"RetryIn": {onKind(kind("k", time.Hour), func(context.Context, jobs.Job) error {
			return jobs.RetryIn(3*time.Hour, errors.New("broken"))
		}), 2, "retry_in=3h0m0s", jobs.StatusScheduled},
		"the last attempt": {onKind(kind("k", time.Hour), failure), 1, "retry=false", jobs.StatusFailed},
		"Discard": {onKind(kind("k", time.Hour), func(context.Context, jobs.Job) error {
			return jobs.Discard(errors.New("broken"))
		}), 2, "retry=false", jobs.StatusFailed},
		"a job that was cancelled meanwhile": {onKind(kind("k", time.Hour), func(ctx context.Context, job jobs.Job) error {
			_, err := f.client.Cancel(context.WithoutCancel(ctx), job.ID)
			return errors.Join(err, errors.New("broken"))
		}), 2, "", jobs.StatusCancelled},
	} {
		var log sharedText
		id := f.enqueue("k", jobs.MaxAttempts(test.maxAttempts))
		f.drain(jobs.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, test.handle)
		want(f, name+": status", f.get(id).Status, test.status)
		var lines []string
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "attempt failed") {
				lines = append(lines, line)
			}
		}
		says := func(part string) bool {
			return slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, part) })
		}
		retried := strings.HasPrefix(test.want, "retry_in")
		switch {
		case says("retry_in=") != retried, retried && says("retry=false"):
			f.Errorf("%s: whether the job is retried is not as the log says: %q", name, lines)
		case test.want != "" && (len(lines) != 1 || !says(test.want+"\n") || !says("error=broken") || !says(fmt.Sprintf("job=%d ", id))):
			f.Errorf("%s: no line with %s: %q", name, test.want, lines)
		}
	}
}
