package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var manageTests = []test{
	{"OnlyIf", testOnlyIf},
	{"Retry", testRetry},
	{"RetryScheduled", testRetryScheduled},
	{"RetryUniqueTaken", testRetryUnique},
	{"RetryFailed", testRetryFailed},
	{"Delete", testDelete},
	{"RefusedWhileRunning", testRefusedWhileRunning},
	{"Prune", testPrune},
}

// fail makes a failed job.
func (f *fixture) fail(kind, message string, opts ...jobs.EnqueueOption) int64 {
	f.Helper()
	id := f.enqueue(kind, opts...)
	f.drain(jobs.Config{}, on(kind, func(context.Context, jobs.Job) error { return jobs.Discard(errors.New(message)) }))
	want(f, "status", f.get(id).Status, jobs.StatusFailed)
	return id
}

func testRetry(f *fixture) {
	id := f.fail("k", "bad", jobs.MaxAttempts(2))
	f.must(f.client.Retry(f.ctx, id))
	job := f.get(id)
	want(f, "status", job.Status, jobs.StatusPending)
	want(f, "attempts left", job.AttemptsLeft(), 2)
	if !job.FinishedAt.IsZero() {
		f.Error("a retried job has an end")
	}
	want(f, "errors that are kept", len(f.errors(id)), 1)
	runs := 0
	f.drain(jobs.Config{}, onKind(again("k"), func(context.Context, jobs.Job) error {
		runs++
		return errors.New("bad again")
	}))
	want(f, "attempts after the retry", runs, 2)
	want(f, "attempt", f.get(id).Attempt, 3)

	for _, c := range []struct {
		id  int64
		err error
	}{{12345, jobs.ErrNotFound}, {f.one(nothing).ID, jobs.ErrStatus}, {f.enqueue("k"), jobs.ErrStatus}} {
		if err := f.client.Retry(f.ctx, c.id); !errors.Is(err, c.err) {
			f.Errorf("retry of job %d gives %v, not %v", c.id, err, c.err)
		}
	}
}

func testRetryScheduled(f *fixture) {
	id := f.enqueue("k", jobs.In(time.Hour), jobs.Unique("u"))
	f.must(f.client.Retry(f.ctx, id))
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
	cancelled := f.enqueue("k")
	_, err := f.client.Cancel(f.ctx, cancelled)
	f.must(err)
	f.must(f.client.Retry(f.ctx, cancelled))
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "status of the cancelled job", f.get(cancelled).Status, jobs.StatusDone)
}

func testRetryUnique(f *fixture) {
	id := f.fail("k", "bad", jobs.Unique("u"))
	holder := f.enqueue("k", jobs.Unique("u"))
	if err := f.client.Retry(f.ctx, id); !errors.Is(err, jobs.ErrUniqueTaken) {
		f.Errorf("retry gives %v", err)
	}
	want(f, "status", f.get(id).Status, jobs.StatusFailed)
	f.must(f.client.Delete(f.ctx, holder))
	f.must(f.client.Retry(f.ctx, id))
}

func testRetryFailed(f *fixture) {
	const n = 1100 // more than fits into one transaction
	payloads := make([]json.RawMessage, n)
	for i := range payloads {
		payloads[i] = json.RawMessage("1")
	}
	_, err := f.client.EnqueueMany(f.ctx, "many", payloads)
	f.must(err)
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 100}},
		on("many", func(context.Context, jobs.Job) error { return jobs.Discard(nil) }))
	first, second := f.fail("k", "bad", jobs.Unique("u")), f.fail("k", "bad", jobs.Unique("u"))

	retried, err := inspect.New(f.client).RetryFailed(f.ctx, inspect.FailedFilter{Kind: "many"})
	f.must(err)
	want(f, "retried jobs", retried, n)
	retried, err = inspect.New(f.client).RetryFailed(f.ctx, inspect.FailedFilter{Since: f.store.Now().Add(time.Hour)})
	f.must(err)
	want(f, "retried jobs of the future", retried, 0)
	retried, err = inspect.New(f.client).RetryFailed(f.ctx, inspect.FailedFilter{})
	f.must(err)
	want(f, "retried jobs of two with one key", retried, 1)
	if a, b := f.get(first).Status, f.get(second).Status; a == b {
		f.Errorf("both are %s", a)
	}
}

func testDelete(f *fixture) {
	id := f.fail("k", "bad")
	f.must(f.client.Delete(f.ctx, id))
	if _, err := f.client.Get(f.ctx, id); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("the deleted job is there: %v", err)
	}
	want(f, "errors of the deleted job", len(f.errors(id)), 0)
	if err := f.client.Delete(f.ctx, id); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("delete of an unknown job gives %v", err)
	}
	f.must(f.client.Delete(f.ctx, f.enqueue("k")))
	f.must(f.client.Delete(f.ctx, f.enqueue("k", jobs.In(time.Hour))))
}

func testRefusedWhileRunning(f *fixture) {
	job := f.one(func(_ context.Context, job jobs.Job) error {
		for verb, err := range map[string]error{
			"delete": f.client.Delete(f.ctx, job.ID), "retry": f.client.Retry(f.ctx, job.ID),
		} {
			if !errors.Is(err, jobs.ErrStatus) || !strings.Contains(err.Error(), "running") {
				f.Errorf("%s of a running job gives %v", verb, err)
			}
		}
		return nil
	})
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "attempt", job.Attempt, 1)
}

func testPrune(f *fixture) {
	done, failed := f.one(nothing).ID, f.fail("bad", "bad")
	waiting := f.enqueue("waiting")
	n, err := inspect.New(f.client).Prune(f.ctx, jobs.StatusDone, time.Hour)
	f.must(err)
	want(f, "pruned young jobs", n, 0)
	n, err = inspect.New(f.client).Prune(f.ctx, jobs.StatusDone, 0)
	f.must(err)
	want(f, "pruned done jobs", n, 1)
	if _, err := f.client.Get(f.ctx, done); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("the pruned job is there: %v", err)
	}
	want(f, "status of another", f.get(failed).Status, jobs.StatusFailed)
	want(f, "status of another", f.get(waiting).Status, jobs.StatusPending)
	_, err = inspect.New(f.client).Prune(f.ctx, jobs.StatusPending, 0)
	wantInvalid(f, "a status that is not final", err)
	_, err = inspect.New(f.client).Prune(f.ctx, jobs.StatusDone, -1)
	wantInvalid(f, "a negative age", err)

	payloads := make([]letter, 1200) // more than fits into one transaction
	_, err = jobs.Kind[letter]{Name: "k"}.EnqueueMany(f.ctx, f.client, payloads)
	f.must(err)
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 100}}, on("k", nothing))
	n, err = inspect.New(f.client).Prune(f.ctx, jobs.StatusDone, 0)
	f.must(err)
	want(f, "pruned many jobs", n, 1200)
}

// testOnlyIf: a job that has changed since the caller read it is not changed.
func testOnlyIf(f *fixture) {
	retry := func(id int64, s jobs.Status) error { return f.client.Retry(f.ctx, id, jobs.OnlyIf(s)) }
	remove := func(id int64, s jobs.Status) error { return f.client.Delete(f.ctx, id, jobs.OnlyIf(s)) }
	end := func(id int64, s jobs.Status) error {
		_, err := f.client.Cancel(f.ctx, id, jobs.OnlyIf(s))
		return err
	}
	id := f.enqueue("k", jobs.MaxAttempts(1))
	for _, t := range []struct {
		name   string
		change func(int64, jobs.Status) error
		other  jobs.Status
		is     jobs.Status
		then   jobs.Status
	}{
		{"cancel", end, jobs.StatusScheduled, jobs.StatusPending, jobs.StatusCancelled},
		{"retry", retry, jobs.StatusFailed, jobs.StatusCancelled, jobs.StatusPending},
		{"delete", remove, jobs.StatusFailed, jobs.StatusPending, ""},
	} {
		if err := t.change(id, t.other); !errors.Is(err, jobs.ErrStatus) || !strings.Contains(err.Error(), string(t.is)) || !strings.Contains(err.Error(), string(t.other)) {
			f.Errorf("%s of a %s job that was %s gives %v", t.name, t.is, t.other, err)
		}
		want(f, "status after a refused "+t.name, f.get(id).Status, t.is)
		f.must(t.change(id, t.is))
		if t.then != "" {
			want(f, "status after "+t.name, f.get(id).Status, t.then)
		}
	}
	if _, err := f.client.Get(f.ctx, id); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("the job is still there: %v", err)
	}
}
