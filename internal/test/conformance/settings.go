package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// settingTests cover the settings that a job may leave to its kind.
var settingTests = []test{
	{"UnsetIsTheDefault", testUnsetSettings},
	{"KindOfTheWorker", testSettingsOfTheWorker},
	{"TakenBack", testSettingTakenBack},
	{"RescuerWithoutTheKind", testSettingsOfARescuer},
	{"RaisedInADeploy", testSettingsOfADeploy},
	{"OfTheKindWhateverTheWay", testSettingsOfEachWay},
	{"QueueAndPriority", testQueueOfTheKind},
	{"QueueInATransaction", testQueueOfTheKindInTx},
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

// declareKind runs a runner that declares the kind k, and has no job to run.
func (f *fixture) declareKind(kind jobs.Kind[json.RawMessage]) {
	f.Helper()
	f.drain(jobs.Config{}, onKind(kind, nothing))
}

// A rescuer that does not know the kind fails a job after as many attempts as the kind declared last.
func testSettingsOfARescuer(f *fixture) {
	f.declareKind(jobs.Kind[json.RawMessage]{Name: "k", MaxAttempts: 2})
	id := f.many(1)[0]
	f.wantAttempts("no worker of the kind lives", id, 2, jobs.SettingOfKind)
	for _, status := range []jobs.Status{jobs.StatusPending, jobs.StatusFailed} {
		g := f.ghost("killed", time.Hour)
		want(f, "claimed", len(g.claim(1, time.Hour)), 1)
		g.die()
		f.drain(jobs.Config{MaxCrashes: 100}, on("other", nothing))
		want(f, "status", f.get(id).Status, status)
	}
}

// A deploy that raises the number raises it for jobs that wait, and for attempts of old workers; a rollback takes it back.
func testSettingsOfADeploy(f *fixture) {
	id := f.enqueue("k", jobs.In(time.Hour))
	failing := func(context.Context, jobs.Job) error { return jobs.RetryIn(time.Hour, errors.New("no luck")) }
	f.start(jobs.Config{Name: "old"}, onKind(jobs.Kind[json.RawMessage]{Name: "k", MaxAttempts: 1, Timeout: time.Hour}, failing))
	f.eventually("the old program declares 1", func() bool { return f.get(id).MaxAttempts == 1 })
	want(f, "timeout", f.get(id).Timeout, time.Hour)
	next := f.startOn(f.elsewhere(), jobs.Config{Name: "new", Queues: map[string]int{"other": 1}},
		onKind(jobs.Kind[json.RawMessage]{Name: "k", MaxAttempts: 2}, failing))
	f.eventually("the new program declares 2", func() bool { return f.get(id).MaxAttempts == 2 })
	want(f, "set by", f.get(id).MaxAttemptsFrom, jobs.SettingOfKind)
	// The old worker alone claims from the queue. Within a look it lets a job have the second attempt.
	f.eventually("a job of the old worker waits for its second attempt", func() bool {
		job := f.attempted(f.enqueue("k"))
		return job.Status == jobs.StatusScheduled
	})
	f.must(next.stop())
	f.eventually("the old program declares 1 again", func() bool { return f.get(id).MaxAttempts == 1 })
}

// attempted waits for the end of a job's first attempt.
func (f *fixture) attempted(id int64) (job jobs.Job) {
	f.Helper()
	f.eventually("the first attempt has ended", func() bool {
		job = f.get(id)
		return job.Attempt == 1 && job.Status != jobs.StatusRunning
	})
	return job
}

// The number of the kind holds for a job by each way of enqueue that names none.
func testSettingsOfEachWay(f *fixture) {
	kind := jobs.Kind[json.RawMessage]{Name: "k", MaxAttempts: 3}
	f.declareKind(kind)
	receipt, err := kind.Enqueue(f.ctx, f.client, json.RawMessage("{}"))
	f.must(err)
	many, err := f.client.EnqueueMany(f.ctx, "k", []json.RawMessage{[]byte("1"), []byte("2")})
	f.must(err)
	items, err := f.client.EnqueueItems(f.ctx, []jobs.Item{kind.Item(json.RawMessage("1")), jobs.NewItem("k", json.RawMessage("2"))})
	f.must(err)
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("s", "@daily", "k", json.RawMessage("{}"))))
	asked, err := f.client.RunSchedule(f.ctx, "s")
	f.must(err)
	for way, id := range map[string]int64{
		"by the kind": receipt.ID, "by its name": f.enqueue("k"), "many": many[1].ID, "an item of the kind": items[0].ID, "an item by name": items[1].ID,
		"with a unique key": f.enqueue("k", jobs.Unique("u")), "by a schedule": asked, "by plain SQL": f.insert("queue", "'default'"),
	} {
		f.wantAttempts(way, id, 3, jobs.SettingOfKind)
	}
	want(f, "jobs of a list with another number", len(slices.DeleteFunc(f.jobs(), func(job jobs.Job) bool { return job.MaxAttempts == 3 })), 0)
}

// wantPlace asserts the queue and the priority of a job.
func (f *fixture) wantPlace(what string, id int64, queue string, priority int) {
	f.Helper()
	job := f.get(id)
	want(f, what+": queue", job.Queue, queue)
	want(f, what+": priority", job.Priority, priority)
}

// An enqueue by the kind's name alone goes where the kind says, from the declaration on.
func testQueueOfTheKind(f *fixture) {
	f.wantPlace("before a runner has declared the kind", f.enqueue("k"), jobs.DefaultQueue, 0)
	kind := jobs.Kind[json.RawMessage]{Name: "k", Queue: "post", Priority: 4}
	f.declareKind(kind)
	many, err := f.client.EnqueueMany(f.ctx, "k", []json.RawMessage{[]byte("1"), []byte("2")})
	f.must(err)
	item := jobs.NewItem("k", json.RawMessage("1"))
	other := jobs.NewItem("other", json.RawMessage("1"))
	items, err := f.client.EnqueueItems(f.ctx, []jobs.Item{item, other})
	f.must(err)
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("s", "@daily", "k", json.RawMessage("{}"))))
	asked, err := f.client.RunSchedule(f.ctx, "s")
	f.must(err)
	for way, id := range map[string]int64{
		"by its name": f.enqueue("k"), "many": many[1].ID, "an item": items[0].ID, "with a unique key": f.enqueue("k", jobs.Unique("u")),
		"by a schedule": asked, "with an empty queue": f.enqueue("k", jobs.Queue("")),
	} {
		f.wantPlace(way, id, "post", 4)
	}
	f.wantPlace("an item of a kind that is not declared", items[1].ID, jobs.DefaultQueue, 0)
	f.wantPlace("with a queue", f.enqueue("k", jobs.Queue("q")), "q", 4)
	f.wantPlace("with priority 0", f.enqueue("k", jobs.Priority(0)), "post", 0)
	f.wantPlace("by plain SQL", f.insert("run_after", "0"), jobs.DefaultQueue, 0)
	kind.Queue, kind.Priority = "parcels", 0
	f.declareKind(kind)
	items, err = f.client.EnqueueItems(f.ctx, []jobs.Item{item})
	f.must(err)
	f.wantPlace("the item again after another declaration", items[0].ID, "parcels", 0)
	receipt, err := f.elsewhere().Enqueue(f.ctx, "k", json.RawMessage("{}"))
	f.must(err)
	f.wantPlace("by another client", receipt.ID, "parcels", 0)
}

// The same in a transaction, by a client that has read nothing yet.
func testQueueOfTheKindInTx(f *fixture) {
	f.declareKind(jobs.Kind[json.RawMessage]{Name: "k", Queue: "post", Priority: 4})
	client := f.elsewhere()
	var id int64
	f.must(client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) error {
		receipt, err := tx.Enqueue(ctx, "k", json.RawMessage("{}"))
		id = receipt.ID
		return err
	}))
	f.wantPlace("in a transaction", id, "post", 4)
}

// jobs lists all jobs.
func (f *fixture) jobs() []jobs.Job {
	f.Helper()
	list, err := inspect.New(f.client).List(f.ctx, inspect.Filter{})
	f.must(err)
	return list
}
