package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// settingTests cover the settings that a job may leave to its kind.
var settingTests = []test{
	{"UnsetIsTheDefault", testUnsetSettings},
	{"KindOfTheWorker", testSettingsOfTheWorker},
	{"TakenBack", testSettingTakenBack},
	{"CrashWithoutANumber", testCrashWithoutANumber},
}

// wantAttempts asserts how many attempts a job has, and what has set the number.
func (f *fixture) wantAttempts(what string, id int64, n int, from jobs.SettingSource) {
	f.Helper()
	job := f.get(id)
	want(f, what+": attempts", job.MaxAttempts, n)
	want(f, what+": attempts set by", job.MaxAttemptsFrom, from)
}

func testUnsetSettings(f *fixture) {
	id := f.enqueue("k")
	f.wantAttempts("without an option", id, jobs.DefaultMaxAttempts, jobs.SettingDefault)
	want(f, "timeout", f.get(id).Timeout, 0)
	want(f, "timeout set by", f.get(id).TimeoutFrom, jobs.SettingDefault)
	f.wantAttempts("with 0", f.enqueue("k", jobs.MaxAttempts(0)), jobs.DefaultMaxAttempts, jobs.SettingDefault)
	f.wantAttempts("with the default's number", f.enqueue("k", jobs.MaxAttempts(jobs.DefaultMaxAttempts)), jobs.DefaultMaxAttempts, jobs.SettingOfJob)
	id = f.enqueue("k", jobs.MaxAttempts(3), jobs.Timeout(time.Minute))
	f.wantAttempts("with an option", id, 3, jobs.SettingOfJob)
	want(f, "timeout by option", f.get(id).Timeout, time.Minute)
	want(f, "timeout by option set by", f.get(id).TimeoutFrom, jobs.SettingOfJob)
	f.wantAttempts("by plain SQL", f.insert("queue", "'default'"), jobs.DefaultMaxAttempts, jobs.SettingDefault)
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("s", "@daily", "k", json.RawMessage("{}"))))
	id, err := f.client.RunSchedule(f.ctx, "s")
	f.must(err)
	f.wantAttempts("by a schedule", id, jobs.DefaultMaxAttempts, jobs.SettingDefault)
}

// The number of the worker's kind holds for jobs that were enqueued by the kind's name alone.
func testSettingsOfTheWorker(f *fixture) {
	kind := jobs.Kind[json.RawMessage]{Name: "k", MaxAttempts: 2, Timeout: time.Hour, RetryDelay: jobs.FixedRetry(0)}
	ids := map[string]int64{"by name": f.enqueue("k"), "by plain SQL": f.insert("queue", "'default'"), "with a number": f.enqueue("k", jobs.MaxAttempts(3))}
	var mu sync.Mutex
	var seen []jobs.Job
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, onKind(kind, func(_ context.Context, job jobs.Job) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, job)
		return errors.New("no luck")
	}))
	for _, job := range seen {
		most, from := 2, jobs.SettingOfKind
		if job.ID == ids["with a number"] {
			most, from = 3, jobs.SettingOfJob
		}
		want(f, "attempts that the handler sees", job.MaxAttempts, most)
		want(f, "what has set them", job.MaxAttemptsFrom, from)
		want(f, "timeout that the handler sees", job.Timeout, time.Hour)
	}
	for what, id := range ids {
		most := 2
		if what == "with a number" {
			most = 3
		}
		job := f.get(id)
		want(f, what+": status", job.Status, jobs.StatusFailed)
		want(f, what+": attempts", job.Counted(), most)
	}
}

func testSettingTakenBack(f *fixture) {
	id := f.enqueue("k", jobs.MaxAttempts(3))
	f.must(f.client.Update(f.ctx, id, jobs.SetMaxAttempts(0)))
	f.wantAttempts("taken back", id, jobs.DefaultMaxAttempts, jobs.SettingDefault)
	f.must(f.client.Update(f.ctx, id, jobs.SetMaxAttempts(7)))
	f.wantAttempts("set again", id, 7, jobs.SettingOfJob)
}

// A rescuer that does not know the kind fails a job after as many attempts as a worker of the kind does.
func testCrashWithoutANumber(f *fixture) {
	id := f.many(1)[0]
	for range 2 {
		g := f.ghost("killed", time.Hour)
		want(f, "claimed", len(g.claim(1, time.Hour)), 1)
		g.die()
		f.drain(jobs.Config{MaxCrashes: 100}, on("other", nothing))
		want(f, "status", f.get(id).Status, jobs.StatusPending)
	}
	want(f, "attempts left", f.get(id).AttemptsLeft(), jobs.DefaultMaxAttempts-2)
}
