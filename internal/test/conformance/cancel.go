package conformance

import (
	"context"
	"errors"

	"github.com/sqluice/sqluice/jobs"
)

var cancelTests = []test{
	{"BeforeTheStart", testCancelBefore},
	{"WhileRunning", testCancelRunning},
	{"DoneAllTheSame", testCancelTooLate},
	{"FailureDoesNotBringItBack", func(f *fixture) { testCancelWins(f, errors.New("failed")) }},
	{"SnoozeDoesNotBringItBack", func(f *fixture) { testCancelWins(f, jobs.Snooze(0)) }},
	{"LastAttemptFails", testCancelLastAttempt},
	{"Refused", testCancelRefused},
}

func testCancelBefore(f *fixture) {
	for _, id := range []int64{f.enqueue("k"), f.enqueue("k", jobs.In(1e9*3600))} {
		status, err := f.client.Cancel(f.ctx, id)
		f.must(err)
		want(f, "status by Cancel", status, jobs.StatusCancelled)
		job := f.get(id)
		want(f, "status", job.Status, jobs.StatusCancelled)
		if job.FinishedAt.IsZero() {
			f.Error("a cancelled job has no end")
		}
	}
	f.drain(jobs.Config{}, on("k", func(context.Context, jobs.Job) error {
		f.Error("a cancelled job ran")
		return nil
	}))
}

func testCancelRunning(f *fixture) {
	id := f.enqueue("k")
	started, causes := make(chan struct{}), make(chan error, 1)
	f.start(jobs.Config{}, on("k", func(ctx context.Context, _ jobs.Job) error {
		close(started)
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return ctx.Err()
	}))
	receive(f, "the start", started)
	there := f.elsewhere()
	for range 2 { // asking twice changes nothing
		status, err := there.Cancel(f.ctx, id)
		f.must(err)
		want(f, "status by Cancel", status, jobs.StatusRunning)
	}
	if cause := receive(f, "the handler's end", causes); !errors.Is(cause, jobs.ErrCancelRequested) {
		f.Errorf("the cause is %v", cause)
	}
	job := f.ended(id)
	want(f, "status", job.Status, jobs.StatusCancelled)
	if job.CancelRequested.IsZero() {
		f.Error("the time of the request is not kept")
	}
	want(f, "errors", len(f.errors(id)), 0)
}

// cancelInside runs a job that another caller cancels during its handler. The handler returns err at once, before the
// runner can have noticed.
func (f *fixture) cancelInside(err error, opts ...jobs.EnqueueOption) jobs.Job {
	f.Helper()
	there := f.elsewhere()
	return f.one(func(_ context.Context, job jobs.Job) error {
		if job.Attempt > 1 {
			return err
		}
		if _, cancelErr := there.Cancel(f.ctx, job.ID); cancelErr != nil {
			f.Error(cancelErr)
		}
		return err
	}, append(opts, jobs.MaxAttempts(3))...)
}

func testCancelTooLate(f *fixture) {
	want(f, "status", f.cancelInside(nil).Status, jobs.StatusDone)
}

func testCancelWins(f *fixture, end error) {
	job := f.cancelInside(end)
	want(f, "status", job.Status, jobs.StatusCancelled)
	want(f, "attempt", job.Attempt, 1)
	if job.FinishedAt.IsZero() {
		f.Error("a cancelled job has no end")
	}
}

func testCancelLastAttempt(f *fixture) {
	id := f.enqueue("k", jobs.MaxAttempts(1))
	f.drain(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		_, err := f.client.Cancel(f.ctx, job.ID)
		return errors.Join(err, errors.New("failed"))
	}))
	if status := f.get(id).Status; !status.Final() {
		f.Errorf("status is %s", status)
	}
}

func testCancelRefused(f *fixture) {
	job := f.one(nothing)
	if _, err := f.client.Cancel(f.ctx, job.ID); !errors.Is(err, jobs.ErrStatus) {
		f.Errorf("cancel of a done job gives %v", err)
	}
	if _, err := f.client.Cancel(f.ctx, 12345); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("cancel of an unknown job gives %v", err)
	}
}
