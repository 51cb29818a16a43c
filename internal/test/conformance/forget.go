package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var forgetTests = []test{
	{"OneUser", testForget},
	{"Many", testForgetMany},
	{"ARunningJob", testForgetRunning},
	{"RetriedMeanwhile", testForgetRetried},
}

// forgotten is the payload of an erased job.
const forgotten = `"` + jobs.Forgotten + `"`

func testForget(f *fixture) {
	add := func(user string, opts ...jobs.EnqueueOption) int64 {
		receipt, err := f.client.Enqueue(f.ctx, "k", json.RawMessage(plantedJSON),
			append(opts, jobs.UserID(user), jobs.Tags(planted), jobs.Metadata(map[string]string{"a": planted}), jobs.MaxAttempts(1))...)
		f.must(err)
		return receipt.ID
	}
	kind := jobs.Kind[json.RawMessage]{Name: "k"}
	f.must(f.client.PutSchedule(f.ctx, kind.Every("theirs", time.Hour, json.RawMessage(plantedJSON), jobs.UserID("7"))))
	f.must(f.client.PutSchedule(f.ctx, kind.Every("another's", time.Hour, json.RawMessage(plantedJSON), jobs.UserID("8"))))
	done, failed, another := add("7"), add("7"), add("8")
	r := f.start(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		if job.ID == failed {
			return errors.New(planted)
		}
		return errors.Join(job.SetProgress(ctx, planted), job.SetResult(planted))
	}))
	for _, id := range []int64{done, failed, another} {
		f.ended(id)
	}
	r.stop()
	pending, scheduled, others := add("7", jobs.Unique(planted+"-not"), jobs.RequestID("r")), add("7", jobs.In(time.Hour)), add("8")

	got, err := inspect.New(f.client).Forget(f.as("me"), "7")
	f.must(err)
	want(f, "forgotten", fmt.Sprintf("%+v", got), "{Cancelled:2 Erased:4 Live:0 Schedules:[theirs]}")
	revealed := f.client.Revealed()
	for id, status := range map[int64]jobs.Status{
		done: jobs.StatusDone, failed: jobs.StatusFailed, pending: jobs.StatusCancelled, scheduled: jobs.StatusCancelled,
	} {
		job, err := revealed.Get(f.ctx, id)
		f.must(err)
		list := f.errors(id)
		want(f, "status", job.Status, status)
		want(f, "payload", string(job.Payload), forgotten)
		want(f, "user", job.UserID, "7")
		job.UniqueKey = ""
		if text := fmt.Sprintf("%+v %v", job, list); strings.Contains(text, planted) || job.Metadata != nil || job.Tags != nil {
			f.Errorf("of job %d is left %s", id, text)
		}
	}
	for _, id := range []int64{another, others} {
		job, err := revealed.Get(f.ctx, id)
		f.must(err)
		want(f, "another's payload", string(job.Payload), plantedJSON)
	}
	if _, err := f.client.GetSchedule(f.ctx, "theirs"); !errors.Is(err, jobs.ErrNoSchedule) {
		f.Errorf("the schedule gives %v", err)
	}
	_, err = f.client.GetSchedule(f.ctx, "another's")
	f.must(err)
	entries := f.audit(inspect.AuditFilter{})
	if len(entries) != 3 || entries[2].Action != inspect.ActionForget || entries[2].Jobs != 4 || string(entries[2].Detail) != `{"user":"7"}` {
		f.Errorf("the audit log is %+v", entries)
	}

	again, err := inspect.New(f.client).Forget(f.ctx, "7")
	f.must(err)
	want(f, "forgotten again", fmt.Sprintf("%+v", again), "{Cancelled:0 Erased:0 Live:0 Schedules:[]}")
	_, err = inspect.New(f.client).Forget(f.ctx, "")
	wantInvalid(f, "an empty user id", err)

	found, err := inspect.New(f.client).List(f.ctx, inspect.Filter{Text: jobs.Forgotten})
	f.must(err)
	want(f, "erased jobs that a search finds", len(found), 4)

	// An erased job cannot be retried.
	why, err := inspect.New(f.client).Why(f.ctx, failed)
	f.must(err)
	if len(why.Findings) != 2 || why.Findings[1].Reason != inspect.ReasonForgotten {
		f.Errorf("why: %+v", why)
	}
	if err := f.client.Retry(f.ctx, failed); !errors.Is(err, jobs.ErrStatus) || !strings.Contains(err.Error(), "erased") {
		f.Errorf("a retry of an erased job: %v", err)
	}
	n, err := inspect.New(f.client).RetryFailed(f.ctx, inspect.FailedFilter{})
	f.must(err)
	want(f, "erased jobs that were retried", n, 0)
}

func testForgetMany(f *fixture) {
	payloads := make([]json.RawMessage, 1300)
	for i := range payloads {
		payloads[i] = json.RawMessage(plantedJSON)
	}
	_, err := f.client.EnqueueMany(f.ctx, "k", payloads, jobs.UserID("7"))
	f.must(err)
	got, err := inspect.New(f.client).Forget(f.ctx, "7")
	f.must(err)
	want(f, "forgotten", fmt.Sprintf("%+v", got), "{Cancelled:1300 Erased:1300 Live:0 Schedules:[]}")
}

// A job that runs is asked to stop, and erased by the call that finds it ended.
func testForgetRunning(f *fixture) {
	receipt, err := f.client.Enqueue(f.ctx, "k", json.RawMessage(plantedJSON), jobs.UserID("7"))
	f.must(err)
	started, end := make(chan struct{}), make(chan struct{})
	r := f.start(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		close(started)
		<-ctx.Done()
		<-end
		return errors.Join(ctx.Err(), errors.New(planted))
	}))
	receive(f, "the start", started)
	got, err := inspect.New(f.client).Forget(f.ctx, "7")
	f.must(err)
	want(f, "forgotten", fmt.Sprintf("%+v", got), "{Cancelled:1 Erased:0 Live:1 Schedules:[]}")
	close(end)
	want(f, "status", f.ended(receipt.ID).Status, jobs.StatusCancelled)
	r.stop()
	got, err = inspect.New(f.client).Forget(f.ctx, "7")
	f.must(err)
	want(f, "forgotten then", fmt.Sprintf("%+v", got), "{Cancelled:0 Erased:1 Live:0 Schedules:[]}")
	job, err := f.client.Revealed().Get(f.ctx, receipt.ID)
	f.must(err)
	if text := fmt.Sprintf("%+v %v", job, f.errors(receipt.ID)); strings.Contains(text, planted) {
		f.Errorf("left is %s", text)
	}
}

// A job that is retried after it was found ended, and before it is erased, keeps its values, and counts as live.
func testForgetRetried(f *fixture) {
	id := f.fail("k", "bad", jobs.UserID("7"), jobs.Tags("t"))
	retry := sync.OnceFunc(func() { f.must(f.client.Retry(f.ctx, id)) })
	got, err := inspect.New(jobs.New(engine.SealStore(&beforeWrites{f.store, retry}))).Forget(f.ctx, "7")
	f.must(err)
	want(f, "forgotten", fmt.Sprintf("%+v", got), "{Cancelled:0 Erased:0 Live:1 Schedules:[]}")
	want(f, "its tags", fmt.Sprint(f.get(id).Tags), "[t]")

	// Rows of the attempts of an erased job alone count, and are recorded.
	f.must(f.client.Delete(f.ctx, id))
	id = f.fail("k", "bad", jobs.UserID("7"))
	_, err = inspect.New(f.client).Forget(f.ctx, "7")
	f.must(err)
	f.write(func(ctx context.Context, q db.Querier) error {
		return q.AddJobError(ctx, db.AddJobErrorParams{JobID: id, Attempt: 1, WorkerID: 1, StartedAt: core.Micros(f.store.Now()), EndedAt: core.Micros(f.store.Now()), Cause: string(jobs.CauseError), Message: "late"})
	})
	got, err = inspect.New(f.client).Forget(f.as("me"), "7")
	f.must(err)
	want(f, "forgotten then", fmt.Sprintf("%+v", got), "{Cancelled:0 Erased:1 Live:0 Schedules:[]}")
	f.wantAudit(inspect.AuditEntry{Actor: "me", Action: inspect.ActionForget, Jobs: 1, JobIDs: []int64{id}, Detail: json.RawMessage(`{"user":"7"}`)})
}

// beforeWrites calls a function before each write.
type beforeWrites struct {
	engine.Store
	call func()
}

func (s *beforeWrites) Write(ctx context.Context, fn engine.Func) error {
	s.call()
	return s.Store.Write(ctx, fn)
}

// RunForgotten forgets a user and removes old rows as the documentation says. Then search must find no value of the user's jobs in the
// database's files.
func RunForgotten(t *testing.T, open Open, remove func(context.Context, Store) error, search func(ctx context.Context, store Store, text string) ([]string, error)) {
	const carried = "forgotten-9b2e60c1"
	const carriedJSON = `{"card":"` + carried + `"}`
	f := newFixture(t, open)
	kind := jobs.Kind[json.RawMessage]{Name: "k"}
	opts := []jobs.EnqueueOption{jobs.UserID("7"), jobs.Tags(carried), jobs.Metadata(map[string]string{"a": carried}), jobs.MaxAttempts(1)}
	for range 20 {
		_, err := kind.Enqueue(f.ctx, f.client, json.RawMessage(carriedJSON), opts...)
		f.must(err)
	}
	f.drain(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		if job.ID%2 == 0 {
			return errors.New(carried)
		}
		return errors.Join(job.SetProgress(ctx, carried), job.SetResult(carried))
	}))
	f.must(f.client.PutSchedule(f.ctx, kind.Every("s", time.Hour, json.RawMessage(carriedJSON), jobs.UserID("7"))))
	f.must(remove(f.ctx, f.store))
	places, err := search(f.ctx, f.store, carried)
	f.must(err)
	if len(places) == 0 {
		f.Error("nothing is found before the user is forgotten")
	}
	got, err := inspect.New(f.client).Forget(f.ctx, "7")
	f.must(err)
	want(f, "forgotten", fmt.Sprintf("%+v", got), "{Cancelled:0 Erased:20 Live:0 Schedules:[s]}")
	f.eventually("nothing is found", func() bool { // a transaction that is older, such as autovacuum's, keeps old rows
		f.must(remove(f.ctx, f.store))
		places, err = search(f.ctx, f.store, carried)
		f.must(err)
		return len(places) == 0
	})
}
