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
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// scheduleTests cover schedules and the outcomes of their ticks, by a separate clock.
var scheduleTests = []test{
	{"AJobForEachTick", testJobForEachTick},
	{"CatchUp", testCatchUp},
	{"CatchUpNoneWaits", testCatchUpNoneWaits},
	{"OverlapSkip", testOverlapSkip},
	{"OverlapReplace", testOverlapReplace},
	{"OverlapAfter", testOverlapAfter},
	{"ClockSetBack", testScheduleClockSetBack},
	{"HistoryIsBounded", testScheduleHistory},
}

// ticking is a schedule under a separate clock, which begins at a whole minute.
type ticking struct {
	*fixture
	name  string
	begin time.Time
	now   time.Time
	since time.Time // of the worker that fires: see schedule.Watch
}

// ticking puts a schedule with ticks a minute apart, of which the first is a minute after the beginning. That is a while ago, so that
// its jobs are due.
func (f *fixture) ticking(opts ...jobs.ScheduleOption) *ticking {
	f.Helper()
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("s", "* * * * *", "k", json.RawMessage("{}"), opts...)))
	info, err := f.client.GetSchedule(f.ctx, "s")
	f.must(err)
	begin := info.Next.Add(-time.Hour)
	f.setNext("s", begin.Add(time.Minute))
	return &ticking{fixture: f, name: "s", begin: begin, now: begin, since: begin}
}

// setNext sets the next tick of a schedule, as a person may do by SQL.
func (f *fixture) setNext(name string, next time.Time) {
	f.Helper()
	f.must(f.store.Write(f.ctx, func(ctx context.Context, q db.Querier) error {
		s, err := q.GetSchedule(ctx, name)
		if err != nil {
			return err
		}
		_, err = q.AdvanceSchedule(ctx, db.AdvanceScheduleParams{Name: name, Version: s.Version, WasAt: s.NextAt, NextAt: core.Micros(next), Now: s.UpdatedAt})
		return err
	}))
}

// at fires the due ticks at a time after the beginning.
func (t *ticking) at(after time.Duration) schedule.Fired {
	t.Helper()
	t.now = t.begin.Add(after)
	return t.fire(schedule.Watch{Now: t.now, Since: t.since, DeferUntil: t.since})
}

// fire does the work of a worker's service.
func (f *fixture) fire(w schedule.Watch) (fired schedule.Fired) {
	f.Helper()
	f.must(f.store.Write(f.ctx, func(ctx context.Context, q db.Querier) error {
		fired = schedule.Fired{}
		names, err := q.ListDueSchedules(ctx, db.ListDueSchedulesParams{Now: core.Micros(w.Now), Declared: "[]", Without: "[]", N: 100})
		if err != nil {
			return err
		}
		fresh, err := q.ListNewSchedules(ctx, db.ListNewSchedulesParams{Without: "[]", N: 100})
		if err != nil {
			return err
		}
		rows, err := q.TakeSchedules(ctx, core.JSONNames(append(names, fresh...)))
		if err != nil {
			return err
		}
		for _, row := range rows {
			var fault *schedule.Fault
			err := schedule.Fire(ctx, q, row, w, &fired)
			switch {
			case errors.As(err, &fault):
				if err := schedule.RecordFault(ctx, q, row.Name, w.Now, fault); err != nil {
					return err
				}
			case err != nil && !errors.Is(err, schedule.ErrDeferred):
				return err
			}
		}
		return nil
	}))
	return fired
}

// missed lets the worker begin to look at a time after the beginning.
func (t *ticking) missed(until time.Duration) { t.since = t.begin.Add(until) }

// end ends a job well, as the worker that runs it.
func (t *ticking) end(id int64) {
	t.Helper()
	t.must(t.client.Delete(t.ctx, id))
}

// want compares the ticks, oldest first: the minute of each, its outcome, and since which minute others were missed.
func (t *ticking) want(what string, wanted ...string) []jobs.ScheduleTick {
	t.Helper()
	ticks, err := t.client.ScheduleTicks(t.ctx, t.name, 1000)
	t.must(err)
	slices.Reverse(ticks)
	var have []string
	for _, tick := range ticks {
		text := fmt.Sprintf("%v %s", tick.Tick.Sub(t.begin).Minutes(), tick.Outcome)
		if !tick.MissedSince.IsZero() {
			text += fmt.Sprintf(" since %v", tick.MissedSince.Sub(t.begin).Minutes())
		}
		have = append(have, text)
		if (tick.Outcome == jobs.TickEnqueued) != (tick.Job != 0) {
			t.Errorf("%s: the tick %s has the job %d", what, text, tick.Job)
		}
		if tick.Job == 0 {
			continue
		}
		job, err := t.client.Get(t.ctx, tick.Job)
		if errors.Is(err, jobs.ErrNotFound) {
			continue
		}
		t.must(err)
		if !job.Tick().Equal(tick.Tick) || job.Schedule() != t.name {
			t.Errorf("%s: the job of %s says that its tick is %v of %s", what, text, job.Tick(), job.Schedule())
		}
	}
	if !slices.Equal(have, wanted) {
		t.Errorf("%s: the ticks are\n%s\nnot\n%s", what, strings.Join(have, "\n"), strings.Join(wanted, "\n"))
	}
	return ticks
}

func testJobForEachTick(f *fixture) {
	t := f.ticking()
	for _, at := range []time.Duration{30 * time.Second, time.Minute, time.Minute, 119 * time.Second, 2 * time.Minute, 185 * time.Second} {
		t.at(at)
	}
	t.want("in time", "1 enqueued", "2 enqueued", "3 enqueued")
	info, err := f.client.GetSchedule(f.ctx, "s")
	f.must(err)
	want(f, "the next tick", info.Next, t.begin.Add(4*time.Minute))
	want(f, "the last tick", info.Last, t.begin.Add(3*time.Minute))
	want(f, "the tick of the last job", f.get(info.LastJob).Tick(), info.Last)
	want(f, "the jobs", f.statuses()[jobs.StatusPending], 3)
}

func testCatchUp(f *fixture) {
	for _, test := range []struct {
		catchUp jobs.CatchUp
		want    []string
	}{
		{jobs.CatchUpLatest, []string{"10 enqueued since 1"}},
		{jobs.CatchUpNone, []string{"10 missed since 1"}},
		{jobs.CatchUpAll(1), []string{"10 enqueued since 1"}},
		{jobs.CatchUpAll(3), []string{"8 enqueued since 1", "9 enqueued", "10 enqueued"}},
		{jobs.CatchUpAll(999), []string{"1 enqueued", "2 enqueued", "3 enqueued", "4 enqueued", "5 enqueued", "6 enqueued", "7 enqueued", "8 enqueued", "9 enqueued", "10 enqueued"}},
	} {
		t := f.ticking(test.catchUp)
		t.missed(10*time.Minute + 20*time.Second)
		t.at(10*time.Minute + 30*time.Second)
		t.want(string(test.catchUp), test.want...)
		t.at(11 * time.Minute)
		t.want(string(test.catchUp)+", and on", append(test.want, "11 enqueued")...)
		deleted, err := f.client.DeleteSchedule(f.ctx, "s")
		f.must(err)
		want(f, "deleted", deleted, true)
	}
	t := f.ticking(jobs.CatchUpNone)
	t.at(150 * time.Second) // late, but the worker was there
	t.want("late", "2 enqueued since 1")
}

// A worker that has just started leaves ticks that it would count as missed to workers that were there.
func testCatchUpNoneWaits(f *fixture) {
	t := f.ticking(jobs.CatchUpNone)
	now := t.begin.Add(61 * time.Second)
	f.fire(schedule.Watch{Now: now, Since: now, DeferUntil: now.Add(2 * time.Second)})
	t.want("it has just started")
	t.at(62 * time.Second)
	t.want("another was there", "1 enqueued")
	now = t.begin.Add(123 * time.Second)
	f.fire(schedule.Watch{Now: now, Since: now.Add(-2 * time.Second), DeferUntil: now})
	t.want("there was no other", "1 enqueued", "2 missed")
}

func testOverlapSkip(f *fixture) {
	t := f.ticking(jobs.OverlapSkip)
	t.at(time.Minute)
	t.at(2 * time.Minute)
	ticks := t.want("the first job waits", "1 enqueued", "2 skipped")
	t.end(ticks[0].Job)
	t.at(3 * time.Minute)
	t.want("it has ended", "1 enqueued", "2 skipped", "3 enqueued")
}

func testOverlapReplace(f *fixture) {
	t := f.ticking(jobs.OverlapReplace)
	t.at(time.Minute)
	if fired := t.at(2 * time.Minute); !fired.Cancelled || len(fired.Jobs) != 1 {
		f.Errorf("what was fired is %+v", fired)
	}
	ticks := t.want("the first job waits", "1 enqueued", "2 enqueued")
	want(f, "the job that was replaced", ticks[1].Replaced, ticks[0].Job)
	want(f, "its status", f.get(ticks[0].Job).Status, jobs.StatusCancelled)
	why, err := inspect.New(f.client).Why(f.ctx, ticks[0].Job)
	f.must(err)
	if text := fmt.Sprintf("replaced it by job %d", ticks[1].Job); len(why.Findings) != 2 || !strings.Contains(why.Findings[1].Text, text) {
		f.Errorf("why it does not run: %+v", why.Findings)
	}

	begun, release := make(chan struct{}), make(chan struct{})
	drained := make(chan error, 1) // a drain fires no ticks of its own
	r := f.runner(f.client, jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		close(begun)
		<-ctx.Done()
		<-release
		return ctx.Err()
	}))
	go func() { drained <- r.Drain(f.ctx) }()
	receive(f, "the second job runs", begun)
	t.at(3 * time.Minute)
	t.at(4 * time.Minute)
	t.want("it is asked to end", "1 enqueued", "2 enqueued", "3 skipped", "4 owed")
	t.wantOwed("it runs", ticks[1].Job, "when this one has ended")
	close(release)
	f.must(receive(f, "the end of the drain", drained))
	want(f, "the status of the second job", f.get(ticks[1].Job).Status, jobs.StatusCancelled)
	t.wantOwed("it has ended", ticks[1].Job, "when a worker looks next")
	t.at(4*time.Minute + 30*time.Second)
	last := t.want("it has ended", "1 enqueued", "2 enqueued", "3 skipped", "4 enqueued")
	want(f, "the job that was replaced at last", last[3].Replaced, ticks[1].Job)
}

// wantOwed checks that why of a job says that the job of the fourth minute follows.
func (t *ticking) wantOwed(what string, id int64, when string) {
	t.Helper()
	why, err := inspect.New(t.client).Why(t.ctx, id)
	t.must(err)
	text := fmt.Sprintf(`schedule "s" enqueues the job of the tick %s %s`, t.begin.Add(4*time.Minute).Format(time.RFC3339), when)
	for _, f := range why.Findings {
		if f.Reason == inspect.ReasonOwed && f.Text == text {
			return
		}
	}
	t.Errorf("%s: %+v, want %s", what, why.Findings, text)
}

func testOverlapAfter(f *fixture) {
	t := f.ticking(jobs.OverlapAfter)
	for minute := range 4 {
		t.at(time.Duration(minute+1) * time.Minute)
	}
	ticks := t.want("the first job waits", "1 enqueued", "2 skipped", "3 skipped", "4 owed")
	want(f, "its status", f.get(ticks[0].Job).Status, jobs.StatusPending)
	t.wantOwed("it waits", ticks[0].Job, "when this one has ended")
	t.end(ticks[0].Job)
	t.at(4*time.Minute + time.Second)
	t.at(4*time.Minute + 2*time.Second)
	t.want("it has ended", "1 enqueued", "2 skipped", "3 skipped", "4 enqueued")
	t.at(5 * time.Minute)
	changed, err := f.client.PauseSchedule(f.ctx, "s")
	f.must(err)
	want(f, "paused", changed, true)
	info, err := f.client.GetSchedule(f.ctx, "s")
	f.must(err)
	want(f, "what a paused schedule owes", info.Owed.IsZero(), true)
	t.want("it is paused", "1 enqueued", "2 skipped", "3 skipped", "4 enqueued", "5 skipped")
}

// A tick is fired once, also after the clock was set back.
func testScheduleClockSetBack(f *fixture) {
	t := f.ticking(jobs.CatchUpAll(10))
	t.at(2 * time.Minute)
	for _, at := range []time.Duration{time.Minute, 2 * time.Minute, 150 * time.Second, 3 * time.Minute} {
		t.at(at)
	}
	t.want("after a step back", "1 enqueued", "2 enqueued", "3 enqueued")
	f.setNext("s", t.begin.Add(2*time.Minute))
	t.at(4 * time.Minute)
	t.want("after next_at was set back", "1 enqueued", "2 enqueued", "3 enqueued", "4 enqueued")
}

func testScheduleHistory(f *fixture) {
	t := f.ticking(jobs.CatchUpAll(150))
	t.at(150 * time.Minute)
	ticks, err := f.client.ScheduleTicks(f.ctx, "s", 1000)
	f.must(err)
	want(f, "ticks that are kept", len(ticks), 100)
	want(f, "the newest", ticks[0].Tick, t.begin.Add(150*time.Minute))
	ticks, err = f.client.ScheduleTicks(f.ctx, "s", 3)
	f.must(err)
	want(f, "ticks that are asked for", len(ticks), 3)
	want(f, "jobs", f.statuses()[jobs.StatusPending], 150)
}
