package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var whyTests = []test{
	{"NotDue", testWhyNotDue},
	{"NoWorker", testWhyNoWorker},
	{"Paused", testWhyPaused},
	{"Moved", testWhyMoved},
	{"SlotsTakenAndJobsAhead", testWhySlots},
	{"DueAndSlotsTaken", testWhyDue},
	{"SlotsOfEachWorker", testWhySlotsOfEachWorker},
	{"LeaseOver", testWhyLeaseOver},
	{"WorkerGone", testWhyWorkerGone},
	{"Ended", testWhyEnded},
	{"NotFound", testWhyNotFound},
	{"Schedule", testWhySchedule},
}

// wantWhy checks the reasons why a job does not run, in order.
func (f *fixture) wantWhy(id int64, want ...inspect.Reason) inspect.Diagnosis {
	f.Helper()
	d, err := inspect.New(f.client).Why(f.ctx, id)
	f.must(err)
	var reasons []inspect.Reason
	for _, finding := range d.Findings {
		reasons = append(reasons, finding.Reason)
		if finding.Text == "" {
			f.Errorf("the reason %s has no text", finding.Reason)
		}
	}
	if !slices.Equal(reasons, want) || d.Job != id {
		f.Errorf("job %d does not run because of %v, want %v", id, d, want)
	}
	return d
}

// live waits until n workers are registered.
func (f *fixture) live(n int) {
	f.Helper()
	f.eventually("the workers are registered", func() bool {
		list, err := inspect.New(f.client).Workers(f.ctx)
		f.must(err)
		return len(list) == n
	})
}

func testWhyNotDue(f *fixture) {
	d := f.wantWhy(f.enqueue("k", jobs.In(time.Hour)), inspect.ReasonNotDue, inspect.ReasonNoWorker)
	if !strings.Contains(d.Findings[0].Text, "in 1h0m0s") && !strings.Contains(d.Findings[0].Text, "in 59m") {
		f.Errorf("a job that is due in an hour does not run because %s", d.Findings[0].Text)
	}
}

// testWhyNoWorker: a worker for other kinds, or other queues, does not count.
func testWhyNoWorker(f *fixture) {
	id := f.enqueue("k")
	r := f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, on("other", nothing))
	f.live(1)
	f.wantWhy(id, inspect.ReasonNoWorker)
	f.must(r.stop())
	r = f.start(jobs.Config{Queues: map[string]int{"other": 1}}, on("k", nothing))
	f.live(1)
	f.wantWhy(id, inspect.ReasonNoWorker)
	f.must(r.stop())
}

func testWhyPaused(f *fixture) {
	_, err := f.client.PauseQueue(f.ctx, jobs.DefaultQueue)
	f.must(err)
	id := f.enqueue("k")
	f.wantWhy(id, inspect.ReasonPaused, inspect.ReasonNoWorker)
	r := f.start(jobs.Config{}, on("k", nothing))
	f.live(1)
	f.wantWhy(id, inspect.ReasonPaused)
	f.must(r.stop())
}

func testWhyMoved(f *fixture) {
	id := f.enqueue("k")
	f.closeQueue()
	d := f.wantWhy(id, inspect.ReasonMoved, inspect.ReasonNoWorker)
	if strings.Contains(d.Findings[0].Text, "elsewhere") {
		f.Errorf("the other database is named in %q", d.Findings[0].Text)
	}
}

// slotTaken starts a worker with one slot, which a job of the kind block holds until release is closed. It takes the kind k
// too.
func (f *fixture) slotTaken() (r *running, holder int64, release chan struct{}) {
	f.Helper()
	started, release := make(chan struct{}), make(chan struct{})
	r = f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, on("block", func(context.Context, jobs.Job) error {
		close(started)
		<-release
		return nil
	}), on("k", nothing))
	holder = f.enqueue("block")
	receive(f, "the start", started)
	return r, holder, release
}

func testWhySlots(f *fixture) {
	r, running, release := f.slotTaken()
	f.wantWhy(running, inspect.ReasonRunning)
	first := f.enqueue("k")
	f.wantWhy(first, inspect.ReasonSlots)
	f.enqueue("unknown", jobs.Priority(9)) // no worker of the queue takes it
	f.enqueue("k", jobs.Queue("other"), jobs.Priority(9))
	f.enqueue("k", jobs.Priority(9))
	f.enqueue("block", jobs.Priority(1))
	last := f.enqueue("k")
	f.wantWhy(first, inspect.ReasonSlots, inspect.ReasonAhead)
	d := f.wantWhy(last, inspect.ReasonSlots, inspect.ReasonAhead)
	if !strings.HasPrefix(d.Findings[1].Text, "3 jobs") {
		f.Errorf("before the last job are %s", d.Findings[1].Text)
	}
	_, err := f.client.Cancel(f.ctx, running)
	f.must(err)
	f.wantWhy(running, inspect.ReasonRunning, inspect.ReasonCancel)
	close(release)
	f.must(r.stop())
}

// testWhyDue: a scheduled job that falls due while no worker has a slot stays scheduled, and waits for one.
func testWhyDue(f *fixture) {
	r, _, release := f.slotTaken()
	id := f.enqueue("k", jobs.In(time.Millisecond))
	f.eventually("the job is due", func() bool { return !f.get(id).RunAfter.After(f.store.Now()) })
	f.wantWhy(id, inspect.ReasonSlots)
	f.enqueue("k", jobs.Priority(9))
	f.wantWhy(id, inspect.ReasonSlots, inspect.ReasonAhead)
	close(release)
	f.must(r.stop())
}

// testWhySlotsOfEachWorker: jobs of one worker, also beyond its slots, take none of another's.
func testWhySlotsOfEachWorker(f *fixture) {
	busy, idle := f.ghost("busy", time.Hour), f.ghost("idle", time.Hour)
	f.many(20)
	want(f, "jobs of the busy worker", len(busy.claim(20, time.Hour)), 20)
	id := f.enqueue("k")
	f.wantWhy(id, inspect.ReasonSoon)
	f.many(9, jobs.Priority(9))
	want(f, "jobs of the idle worker", len(idle.claim(9, time.Hour)), 9)
	f.wantWhy(id, inspect.ReasonSoon)
	f.many(1, jobs.Priority(9))
	want(f, "jobs of the idle worker", len(idle.claim(1, time.Hour)), 1)
	f.wantWhy(id, inspect.ReasonSlots)
	f.must(errors.Join(busy.release(true), idle.release(true)))
}

// testWhyLeaseOver: jobs of a killed last worker do not run any more, whatever their status.
func testWhyLeaseOver(f *fixture) {
	id := f.enqueue("k")
	g := f.ghost("killed", time.Hour)
	g.claim(1, time.Hour)
	f.wantWhy(id, inspect.ReasonRunning)
	g.die()
	f.write(func(ctx context.Context, q db.Querier) error {
		_, err := q.ExtendLeases(ctx, db.ExtendLeasesParams{
			LeaseUntil: f.store.Now().Add(-time.Second).UnixMicro(), WorkerID: g.id, Items: fmt.Sprintf("[[%d,1]]", id),
		})
		return err
	})
	f.wantWhy(id, inspect.ReasonRunning, inspect.ReasonLease)
}

// A worker that has given no sign of life for two leases takes no job and declares no schedule, although no other worker has noticed its death.
func testWhyWorkerGone(f *fixture) {
	id := f.enqueue("k")
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("code", "0 0 1 1 *", "k", json.RawMessage("{}"))))
	f.sql("declare_schedules")
	for _, test := range []struct {
		lease   time.Duration
		workers int
		reason  inspect.Reason
		state   string
	}{
		{-time.Second, 0, inspect.ReasonNoWorker, jobs.ScheduleUndeclared},
		{time.Hour, 1, inspect.ReasonSoon, jobs.ScheduleActive},
	} {
		d, err := declare.Schedule(db.PutScheduleParams{Name: "code"})
		f.must(err)
		g := &ghost{f: f, declares: []declare.Declaration{d}}
		g.register(fmt.Sprint("w", test.workers), test.lease)
		f.wantWhy(id, test.reason)
		shown, err := f.client.GetSchedule(f.ctx, "code")
		f.must(err)
		want(f, "the schedule's state", shown.State(), test.state)
		why, err := inspect.New(f.client).WhySchedule(f.ctx, "code")
		f.must(err)
		want(f, "its state in why", why.State, test.state)
		s, err := inspect.New(f.client).Snapshot(f.ctx)
		f.must(err)
		want(f, "workers", len(s.Workers), test.workers)
		want(f, "workers that are counted", s.Stats.Workers, test.workers)
		want(f, "slots of the queue", s.Queues[0].Slots, 10*test.workers)
		stats, err := inspect.New(f.client).ScheduleStats(f.ctx)
		f.must(err)
		want(f, "schedules of this state", stats.States[test.state], 1)
	}
}

func testWhyEnded(f *fixture) {
	first := f.enqueue("k", jobs.Unique("key"), jobs.MaxAttempts(1))
	f.drain(jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return errors.New("no") }))
	f.wantWhy(first, inspect.ReasonEnded)
	second := f.enqueue("k", jobs.Unique("key"))
	d := f.wantWhy(first, inspect.ReasonEnded, inspect.ReasonUniqueKey)
	f.must(f.client.Delete(f.ctx, second))
	f.wantWhy(first, inspect.ReasonEnded)
	third := f.enqueue("k", jobs.Unique("key"))
	f.drain(jobs.Config{}, on("k", nothing))
	f.enqueue("k", jobs.Unique("key"))
	f.wantWhy(third, inspect.ReasonEnded) // it is done and cannot be retried
	row := f.failedRow("k", "bad")
	row[27] = nil
	f.importJob(row)
	if d := f.wantWhy(row[0].(int64), inspect.ReasonEnded); strings.Contains(d.Findings[0].Text, "0001") {
		f.Errorf("a job that another program ended without a time %s", d.Findings[0].Text)
	}
	if !strings.Contains(d.Findings[0].Text, "failed") {
		f.Errorf("a failed job does not run because %s", d.Findings[0].Text)
	}
}

func testWhyNotFound(f *fixture) {
	if _, err := inspect.New(f.client).Why(f.ctx, 77); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("an unknown job does not run because of %v", err)
	}
}

// A schedule says why it enqueues no job.
func testWhySchedule(f *fixture) {
	in := inspect.New(f.client)
	wantReasons := func(name, state string, want ...inspect.Reason) {
		f.Helper()
		d, err := in.WhySchedule(f.ctx, name)
		f.must(err)
		var reasons []inspect.Reason
		for _, finding := range d.Findings {
			reasons = append(reasons, finding.Reason)
		}
		if !slices.Equal(reasons, want) || d.State != state || d.Schedule != name {
			f.Errorf("schedule %s is %s because of %+v, want %s of %v", name, d.State, d.Findings, state, want)
		}
	}
	kind := jobs.Kind[struct{}]{Name: "k"}
	declare := func(r *jobs.Runner) { r.Schedule(kind.Cron("declared", "@yearly", struct{}{})) }
	f.must(f.client.PutSchedule(f.ctx, kind.Cron("put", "@yearly", struct{}{})))
	wantReasons("put", jobs.ScheduleActive, inspect.ReasonNoWorker, inspect.ReasonNotDue)
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("renamed", "@yearly", "nobody", nil)))
	first := f.start(jobs.Config{}, on("k", nothing), declare)
	f.live(1)
	wantReasons("renamed", jobs.ScheduleActive, inspect.ReasonNoWorker, inspect.ReasonNotDue)
	renamed, err := f.client.GetSchedule(f.ctx, "renamed")
	f.must(err)
	want(f, "no worker takes the kind of the schedule", renamed.Unhandled, true)
	stats, err := in.ScheduleStats(f.ctx)
	f.must(err)
	want(f, "schedules without a worker", fmt.Sprint(stats.Unhandled), "[{default nobody 1}]")
	wantReasons("put", jobs.ScheduleActive, inspect.ReasonNotDue)
	f.eventually("the schedule is declared", func() bool {
		_, err := f.client.GetSchedule(f.ctx, "declared")
		return err == nil
	})
	wantReasons("declared", jobs.ScheduleActive, inspect.ReasonNotDue)
	first.stop()
	wantReasons("declared", jobs.ScheduleUndeclared, inspect.ReasonNoWorker, inspect.ReasonNotDue)
	f.start(jobs.Config{}, on("k", nothing))
	f.live(1)
	wantReasons("declared", jobs.ScheduleUndeclared, inspect.ReasonUndeclared, inspect.ReasonNotDue)
	_, err = f.client.PauseSchedule(f.ctx, "put")
	f.must(err)
	wantReasons("put", jobs.SchedulePaused, inspect.ReasonSchedulePaused, inspect.ReasonNotDue)
	if _, err := in.WhySchedule(f.ctx, "none"); !errors.Is(err, jobs.ErrNoSchedule) {
		f.Errorf("an unknown schedule: %v", err)
	}
}

// why returns the first reason why a job does not run.
func (f *fixture) why(id int64) inspect.Finding {
	f.Helper()
	d, err := inspect.New(f.client).Why(f.ctx, id)
	f.must(err)
	return d.Findings[0]
}
