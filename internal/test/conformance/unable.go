package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// unableTests cover jobs that a worker cannot run and another one may. None of them expects a certain number of attempts, because a job falls
// due again after about a second.
var unableTests = []test{
	{"GivenBack", testUnableGivenBack},
	{"Observed", testUnableObserved},
	{"Versions", testUnableVersions},
	{"AnyVersion", testAnyVersion},
	{"MustStillStart", testUnableMustStillStart},
	{"StartsAnew", testUnableStartsAnew},
}

// uncalled is a handler that fails the test when it is called.
func (f *fixture) uncalled(_ context.Context, job jobs.Job) error {
	f.Errorf("the handler was called for job %d", job.ID)
	return nil
}

// dueNow makes a scheduled job due. A worker may have claimed it meanwhile.
func (f *fixture) dueNow(id int64) {
	f.Helper()
	if err := f.client.Update(f.ctx, id, jobs.SetRunAfter(f.store.Now())); err != nil && !errors.Is(err, jobs.ErrStatus) {
		f.must(err)
	}
}

// wantUnable checks that a job waits, was not charged, and that its last attempt and Why say why a worker could not run it.
func (f *fixture) wantUnable(id int64, message string) {
	f.Helper()
	job := f.get(id)
	if job.Status != jobs.StatusScheduled || job.Counted() != 0 || job.Attempt == 0 || job.LastError != "" || !job.RunAfter.After(job.UpdatedAt) {
		f.Errorf("the job is %s with attempt %d of which %d count and the error %q, due %s after its update",
			job.Status, job.Attempt, job.Counted(), job.LastError, job.RunAfter.Sub(job.UpdatedAt))
	}
	page, err := inspect.New(f.client).Attempts(f.ctx, id, 0, 0)
	f.must(err)
	want(f, "failed attempts", len(page.Failed), 0)
	if len(page.Others) == 0 {
		f.Fatal("no attempt is recorded")
	}
	last := page.Others[len(page.Others)-1]
	want(f, "cause", last.Cause, jobs.CauseUnable)
	want(f, "message", last.Message, message)
	why, err := inspect.New(f.client).Why(f.ctx, id)
	f.must(err)
	if why.Findings[0].Reason != inspect.ReasonUnable || !strings.Contains(why.Findings[0].Text, message) {
		f.Errorf("the job does not run because of %+v", why.Findings)
	}
}

func testUnableGivenBack(f *fixture) {
	id := f.enqueue("k", jobs.MaxAttempts(1))
	lacks := jobs.Unable(errors.New("the program is missing"))
	f.must(f.runner(f.client, jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return lacks })).Drain(f.ctx))
	f.wantUnable(id, "the program is missing")
	first := f.get(id)
	if delay := first.RunAfter.Sub(first.UpdatedAt); delay < time.Second || delay > time.Duration(first.Attempt+1)*time.Second {
		f.Errorf("after attempt %d it is due in %s", first.Attempt, delay)
	}
	f.dueNow(id)
	f.must(f.runner(f.client, jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return lacks })).Drain(f.ctx))
	second := f.get(id)
	if delay := second.RunAfter.Sub(second.UpdatedAt); delay < time.Duration(second.Attempt)*time.Second {
		f.Errorf("after attempt %d it is due in %s", second.Attempt, delay)
	}
	f.dueNow(id)
	f.must(f.runner(f.client, jobs.Config{}, on("k", nothing)).Drain(f.ctx))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
	want(f, "attempts that count", f.get(id).Counted(), 1)
}

func testUnableObserved(f *fixture) {
	client, seen := f.observed()
	f.enqueue("k")
	f.must(f.runner(client, jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return jobs.Unable(nil) })).Drain(f.ctx))
	if len(seen.finished) == 0 {
		f.Fatal("no attempt has finished")
	}
	event := seen.finished[0]
	want(f, "fate", event.Fate, jobs.FateUnable)
	want(f, "cause", event.Cause, jobs.CauseUnable)
	want(f, "error", event.Error, "the worker cannot run the job")
}

// Of four workers one knows the version of the jobs' payloads: all jobs are done, and none is charged.
func testUnableVersions(f *fixture) {
	const n = 20
	kind := jobs.Kind[json.RawMessage]{Name: "k", Version: 2, MaxAttempts: 1}
	var ids []int64
	for i := range n {
		receipt, err := kind.Enqueue(f.ctx, f.client, json.RawMessage("{}"), jobs.MaxAttempts(1+2*(i%2)))
		f.must(err)
		ids = append(ids, receipt.ID)
	}
	var ran atomic.Int64
	older := func() handle { return onKind(jobs.Kind[json.RawMessage]{Name: "k", Version: 1}, f.uncalled) }
	workers := []*running{f.start(jobs.Config{}, older()), f.start(jobs.Config{}, older()), f.start(jobs.Config{}, older())}
	workers = append(workers, f.start(jobs.Config{}, onKind(kind, func(context.Context, jobs.Job) error {
		ran.Add(1)
		return nil
	})))
	f.eventually("all jobs are done", func() bool {
		done := 0
		for _, id := range ids {
			switch job := f.get(id); job.Status {
			case jobs.StatusDone:
				done++
			case jobs.StatusScheduled:
				f.dueNow(id)
			case jobs.StatusFailed:
				f.Fatalf("job %d has failed: %s", id, job.LastError)
			}
		}
		return done == n
	})
	for _, worker := range workers {
		f.must(worker.stop())
	}
	want(f, "jobs that ran", ran.Load(), int64(n))
	for _, id := range ids {
		want(f, "attempts that count", f.get(id).Counted(), 1)
	}
}

func testAnyVersion(f *fixture) {
	receipt, err := jobs.Kind[int]{Name: "k", Version: 7}.Enqueue(f.ctx, f.client, 1)
	f.must(err)
	var version int
	kind := jobs.Kind[json.RawMessage]{Name: "k", Version: jobs.AnyVersion}
	f.must(f.runner(f.client, jobs.Config{}, onKind(kind, func(_ context.Context, job jobs.Job) error {
		version = job.PayloadVersion()
		return nil
	})).Drain(f.ctx))
	want(f, "status", f.get(receipt.ID).Status, jobs.StatusDone)
	want(f, "version", version, 7)
	_, err = kind.Enqueue(f.ctx, f.client, json.RawMessage("{}"))
	wantInvalid(f, "a payload of any version", err)
}

// A job that no worker was able to run still expires.
func testUnableMustStillStart(f *fixture) {
	id := f.enqueue("k", jobs.StartWithin(time.Hour))
	f.must(f.runner(f.client, jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return jobs.Unable(errors.New("no")) })).Drain(f.ctx))
	f.wantUnable(id, "no")
	if f.get(id).StartBy.IsZero() {
		f.Error("the job may start at any time")
	}
	ended, _, err := f.expire(2 * time.Hour)
	f.must(err)
	want(f, "jobs that expired", ended, 1)
	want(f, "status", f.get(id).Status, jobs.StatusCancelled)
}

// An attempt that a worker was able to make ends the row of unable attempts: the delay grows from its beginning.
func testUnableStartsAnew(f *fixture) {
	id := f.enqueue("k")
	unable := func(context.Context, jobs.Job) error { return jobs.Unable(errors.New("no")) }
	for _, handler := range []func(context.Context, jobs.Job) error{unable, unable, unable,
		func(context.Context, jobs.Job) error { return jobs.Snooze(time.Hour) }} {
		f.must(f.runner(f.client, jobs.Config{}, on("k", handler)).Drain(f.ctx))
		f.dueNow(id)
	}
	before := f.get(id).Attempt
	f.must(f.runner(f.client, jobs.Config{}, on("k", unable)).Drain(f.ctx))
	job := f.get(id)
	if delay := job.RunAfter.Sub(job.UpdatedAt); delay < time.Second || delay > time.Duration(job.Attempt-before+1)*time.Second {
		f.Errorf("after attempt %d of which %d were before the snooze it is due in %s", job.Attempt, before, delay)
	}
}
