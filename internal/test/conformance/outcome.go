package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var outcomeTests = []test{
	{"Done", testDone},
	{"Result", testResult},
	{"Progress", testProgress},
	{"Snooze", testSnooze},
	{"CancelVerdict", testCancelVerdict},
	{"Discard", testDiscard},
	{"Panic", testPanic},
	{"Goexit", testGoexit},
	{"UndecodablePayloadIsRetried", testUndecodable},
	{"MessageIsMadeStorable", testMessage},
	{"OnlyInAHandler", testOnlyInAHandler},
}

// one runs a job of kind k, once or more, until it has ended, and returns it.
func (f *fixture) one(handler func(ctx context.Context, job jobs.Job) error, opts ...jobs.EnqueueOption) jobs.Job {
	f.Helper()
	id := f.enqueue("k", opts...)
	f.drain(jobs.Config{}, onKind(again("k"), handler))
	return f.get(id)
}

func testDone(f *fixture) {
	var seen jobs.Job
	job := f.one(func(_ context.Context, job jobs.Job) error {
		seen = job
		return nil
	}, jobs.Tags("t"), jobs.Metadata(1), jobs.UserID("u"))
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "attempt", job.Attempt, 1)
	want(f, "attempt that the handler saw", seen.Attempt, 1)
	want(f, "status that the handler saw", seen.Status, jobs.StatusRunning)
	want(f, "user that the handler saw", seen.UserID, "u")
	want(f, "attempts left after the first", seen.AttemptsLeft(), jobs.DefaultMaxAttempts-1)
	if job.StartedAt.IsZero() || job.FinishedAt.Before(job.StartedAt) || !job.LeaseUntil.IsZero() {
		f.Errorf("started %v, finished %v, lease until %v", job.StartedAt, job.FinishedAt, job.LeaseUntil)
	}
	want(f, "errors", len(f.errors(job.ID)), 0)
	want(f, "result", string(job.Result), "")
}

func testResult(f *fixture) {
	job := f.one(func(_ context.Context, job jobs.Job) error {
		if err := job.SetResult(make(chan int)); err == nil {
			f.Error("a channel is a result")
		}
		wantInvalid(f, "a result that is too large", job.SetResult(strings.Repeat("x", jobs.MaxPayload)))
		if err := job.SetResult("first"); err != nil {
			return err
		}
		return job.SetResult(map[string]string{"quote": `"'\`})
	})
	want(f, "result", string(job.Result), `{"quote":"\"'\\"}`)
	job = f.one(func(_ context.Context, job jobs.Job) error {
		return errors.Join(job.SetResult(1), errors.New("failed all the same"))
	}, jobs.MaxAttempts(1))
	want(f, "status", job.Status, jobs.StatusFailed)
	want(f, "result of a failed job", string(job.Result), "")
}

func testProgress(f *fixture) {
	f.one(func(ctx context.Context, job jobs.Job) error {
		for i := range 3 {
			if err := job.SetProgress(ctx, i); err != nil {
				return err
			}
			want(f, "progress that others see", string(f.get(job.ID).Progress), fmt.Sprint(i))
		}
		return nil
	})
}

func testSnooze(f *fixture) {
	runs := 0
	job := f.one(func(context.Context, jobs.Job) error {
		if runs++; runs <= 3 {
			return jobs.Snooze(0)
		}
		return nil
	}, jobs.MaxAttempts(1))
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "attempt", job.Attempt, 4)
	want(f, "uncounted", job.Uncounted, 3)
	want(f, "errors", len(f.errors(job.ID)), 0)
	job = f.one(func(context.Context, jobs.Job) error { return fmt.Errorf("wrapped: %w", jobs.Snooze(time.Hour)) })
	want(f, "status", job.Status, jobs.StatusScheduled)
	want(f, "delay", job.RunAfter.Sub(job.UpdatedAt), time.Hour)
	testSnoozeReason(f)
	// An error that is joined to it is recorded nowhere, as the Go doc of Snooze says.
	job = f.one(func(context.Context, jobs.Job) error {
		return errors.Join(errors.New("broken"), jobs.Snooze(time.Hour))
	})
	want(f, "status", job.Status, jobs.StatusScheduled)
	want(f, "uncounted", job.Uncounted, 1)
	want(f, "last error", job.LastError, "")
	want(f, "errors", len(f.errors(job.ID)), 0)
}

// The reason of a snooze stands with its attempt, and is no error of the job.
func testSnoozeReason(f *fixture) {
	f.Helper()
	runs := 0
	job := f.one(func(context.Context, jobs.Job) error {
		switch runs++; runs {
		case 1:
			return jobs.RetryIn(0, errors.New("broken"))
		case 2:
			return jobs.SnoozeBecause(0, nil)
		default:
			return jobs.SnoozeBecause(time.Hour, errors.New("the partner's API is down"))
		}
	})
	want(f, "status", job.Status, jobs.StatusScheduled)
	want(f, "delay", job.RunAfter.Sub(job.UpdatedAt), time.Hour)
	want(f, "last error", job.LastError, "broken")
	want(f, "errors", len(f.errors(job.ID)), 1)
	page, err := inspect.New(f.client).Attempts(f.ctx, job.ID, 0, inspect.MaxPage)
	f.must(err)
	if len(page.Others) != 2 || page.Others[0].Message != "" || page.Others[1].Message != "the partner's API is down" ||
		page.Others[1].Cause != jobs.CauseSnoozed {
		f.Errorf("the attempts that did not fail are %+v", page.Others)
	}
	id := f.enqueue("k")
	f.drain(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		if job.ID == id {
			if _, err := f.client.Cancel(ctx, id); err != nil {
				return err
			}
		}
		return jobs.SnoozeBecause(time.Hour, errors.New("the partner's API is down"))
	}))
	want(f, "status of a cancelled one", f.get(id).Status, jobs.StatusCancelled)
	want(f, "last error of a cancelled one", f.get(id).LastError, "")
}

func testCancelVerdict(f *fixture) {
	job := f.one(func(context.Context, jobs.Job) error { return jobs.Cancel(errors.New("no longer wanted")) })
	want(f, "status", job.Status, jobs.StatusCancelled)
	want(f, "last error", job.LastError, "no longer wanted")
	want(f, "errors", len(f.errors(job.ID)), 0)
	job = f.one(func(context.Context, jobs.Job) error { return jobs.Cancel(nil) })
	want(f, "status", job.Status, jobs.StatusCancelled)
	want(f, "last error", job.LastError, "")
}

func testDiscard(f *fixture) {
	job := f.one(func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("hopeless")) })
	want(f, "status", job.Status, jobs.StatusFailed)
	want(f, "attempt", job.Attempt, 1)
	want(f, "last error", job.LastError, "hopeless")
	f.wantError(job.ID, jobs.CauseError, "hopeless")
}

// wantError checks the one failed attempt of a job.
func (f *fixture) wantError(id int64, cause jobs.Cause, message string) inspect.AttemptEnd {
	f.Helper()
	list := f.errors(id)
	if len(list) != 1 {
		f.Fatalf("%d errors: %+v", len(list), list)
	}
	want(f, "cause", list[0].Cause, cause)
	if !strings.Contains(list[0].Message, message) {
		f.Errorf("the message %q does not hold %q", list[0].Message, message)
	}
	if list[0].StartedAt.IsZero() || list[0].EndedAt.Before(list[0].StartedAt) {
		f.Errorf("the attempt started %v and ended %v", list[0].StartedAt, list[0].EndedAt)
	}
	return list[0]
}

func testPanic(f *fixture) {
	job := f.one(func(context.Context, jobs.Job) error { panic("oh no") }, jobs.MaxAttempts(1))
	want(f, "status", job.Status, jobs.StatusFailed)
	e := f.wantError(job.ID, jobs.CausePanic, "oh no")
	if !strings.Contains(e.Stack, "testPanic") {
		f.Errorf("the stack does not show the handler:\n%s", e.Stack)
	}
	if e.Worker == "" {
		f.Error("the error does not name the worker")
	}
}

func testGoexit(f *fixture) {
	job := f.one(func(context.Context, jobs.Job) error {
		runtime.Goexit()
		return nil
	}, jobs.MaxAttempts(1))
	want(f, "status", job.Status, jobs.StatusFailed)
	if e := f.wantError(job.ID, jobs.CausePanic, "Goexit"); !strings.Contains(e.Stack, "testGoexit") {
		f.Errorf("the stack does not show the handler:\n%s", e.Stack)
	}
}

// testUndecodable checks that a payload that does not fit the handler's type is retried like an error, with a separate cause, under which
// the report of failed jobs lists it when no attempt is left.
func testUndecodable(f *fixture) {
	receipt, err := f.client.Enqueue(f.ctx, "letter", json.RawMessage(`{"to": 7}`), jobs.MaxAttempts(3))
	f.must(err)
	old := func(r *jobs.Runner) { // its letters go to names
		jobs.Kind[letter]{Name: "letter", RetryDelay: func(jobs.Job, error) time.Duration { return time.Hour }}.Handle(r, func(context.Context, jobs.Job, letter) error {
			f.Error("the handler ran")
			return nil
		})
	}
	f.drain(jobs.Config{}, old)
	job := f.get(receipt.ID)
	want(f, "status", job.Status, jobs.StatusScheduled)
	want(f, "attempts left", job.AttemptsLeft(), 2)
	f.wantError(receipt.ID, jobs.CauseDecode, "decode payload")

	// A worker of the next version, whose letters go to numbers, runs it.
	f.must(f.client.Retry(f.ctx, receipt.ID))
	f.drain(jobs.Config{}, func(r *jobs.Runner) {
		jobs.Kind[struct{ To int }]{Name: "letter"}.Handle(r, func(context.Context, jobs.Job, struct{ To int }) error { return nil })
	})
	want(f, "status", f.get(receipt.ID).Status, jobs.StatusDone)

	// Without one its attempts run out.
	last, err := f.client.Enqueue(f.ctx, "letter", json.RawMessage(`{"to": 7}`), jobs.MaxAttempts(1))
	f.must(err)
	f.drain(jobs.Config{}, old)
	want(f, "status", f.get(last.ID).Status, jobs.StatusFailed)
	f.wantError(last.ID, jobs.CauseDecode, "decode payload")
	report, err := inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{})
	f.must(err)
	if len(report.Groups) != 1 || report.Groups[0].Cause != jobs.CauseDecode || report.Groups[0].ExampleID != last.ID ||
		!strings.Contains(report.Groups[0].Error, "decode payload") {
		f.Errorf("the report of failed jobs is %+v", report.Groups)
	}
}

func testMessage(f *fixture) {
	text := "bad \xff\x00 " + strings.Repeat("é", 10_000)
	job := f.one(func(context.Context, jobs.Job) error { return errors.New(text) }, jobs.MaxAttempts(1))
	e := f.wantError(job.ID, jobs.CauseError, "bad \uFFFD\uFFFD ééé")
	if len(e.Message) > 5000 {
		f.Errorf("a message of %d bytes is kept", len(e.Message))
	}
}

func testOnlyInAHandler(f *fixture) {
	job := f.get(f.enqueue("k"))
	if job.SetResult(1) == nil {
		f.Error("SetResult works outside a handler")
	}
	if job.SetProgress(f.ctx, 1) == nil {
		f.Error("SetProgress works outside a handler")
	}
}
