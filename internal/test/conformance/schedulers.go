package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// schedulerTests cover runners that serve schedules.
var schedulerTests = []test{
	{"WhileAllSlotsAreBusy", testScheduleWhileBusy},
	{"OnceAmongMany", testScheduleOnceAmongMany},
	{"StopsWithItsLastRunner", testDeclaredSchedule},
	{"ADrainServesNone", testDrainServesNoSchedule},
	{"ARefusedJobHoldsUpNoOther", testScheduleRefused},
	{"ManyAtOnce", testManySchedules},
	{"ManyNewOnes", testManyNewSchedules},
	{"BesideACallersTransaction", testScheduleBesideATransaction},
	{"BesideALockedJob", testScheduleBesideALockedJob},
	{"ClosedQueue", testScheduleClosed},
}

func testScheduleWhileBusy(f *fixture) {
	release, begun := make(chan struct{}), make(chan struct{})
	f.enqueue("slow")
	f.start(jobs.Config{Queues: map[string]int{"default": 1}}, on("slow", func(ctx context.Context, _ jobs.Job) error {
		close(begun)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	}))
	receive(f, "the only slot is taken", begun)
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("s", "@every 1s", "k", json.RawMessage("{}"))))
	f.eventually("two ticks have jobs", func() bool {
		ticks, err := f.client.ScheduleTicks(f.ctx, "s", 10)
		f.must(err)
		return len(ticks) >= 2
	})
	close(release)
}

// Any number of runners enqueue one job for a tick.
func testScheduleOnceAmongMany(f *fixture) {
	const n = 5
	for i := range n {
		f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule(fmt.Sprint("s", i), "@every 1s", "k", json.RawMessage("{}"), jobs.CatchUpAll(100))))
	}
	var mu sync.Mutex
	ran := map[string]int{}
	for range 4 {
		f.startOn(f.elsewhere(), jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
			mu.Lock()
			defer mu.Unlock()
			ran[job.Schedule()+job.Tick().String()]++
			return nil
		}))
	}
	f.eventually("each has had three ticks", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(ran) >= 3*n
	})
	mu.Lock()
	defer mu.Unlock()
	for tick, times := range ran {
		want(f, "jobs of "+tick, times, 1)
	}
	for i := range n {
		ticks, err := f.client.ScheduleTicks(f.ctx, fmt.Sprint("s", i), 100)
		f.must(err)
		for j, tick := range ticks[:len(ticks)-1] {
			want(f, "the time between two ticks", tick.Tick.Sub(ticks[j+1].Tick), time.Second)
		}
	}
}

// A schedule of the code is due while a runner lives that declares it, under whatever other runners.
func testDeclaredSchedule(f *fixture) {
	declare := func(specs ...string) *running {
		f.Helper()
		r := f.runner(f.elsewhere(), jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return nil }))
		for i, spec := range specs {
			r.Schedule(jobs.NewSchedule(fmt.Sprint("s", i), spec, "k", json.RawMessage("{}")))
		}
		return f.run(r)
	}
	ticks := func(name string) int {
		f.Helper()
		list, err := f.client.ScheduleTicks(f.ctx, name, 1000)
		if !errors.Is(err, jobs.ErrNoSchedule) {
			f.must(err)
		}
		return len(list)
	}
	old := declare("@every 1s", "@every 1s")
	f.eventually("both are due", func() bool { return ticks("s0") > 0 && ticks("s1") > 0 })
	workers, err := inspect.New(f.client).Workers(f.ctx)
	f.must(err)
	want(f, "schedules of the worker", fmt.Sprint(workers[0].Schedules), "[s0 s1]")
	young := declare("@every 1s")
	f.must(old.stop())
	info, err := f.client.GetSchedule(f.ctx, "s1")
	f.must(err)
	if info.Declared || !info.InCode {
		f.Errorf("the schedule that is declared no more is %+v", info)
	}
	before, removed := ticks("s0"), ticks("s1")
	f.eventually("the other one goes on", func() bool { return ticks("s0") >= before+3 })
	want(f, "ticks of the one that is declared no more", ticks("s1"), removed)
	f.must(young.stop())
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("s1", "@every 1s", "k", json.RawMessage("{}"))))
	other := f.startOn(f.elsewhere(), jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return nil }))
	f.eventually("a client has put it", func() bool { return ticks("s1") > removed })
	f.must(other.stop())
}

func testDrainServesNoSchedule(f *fixture) {
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("s", "@every 1s", "k", json.RawMessage("{}"))))
	f.setNext("s", f.store.Now().Add(-time.Minute)) // it is overdue
	f.enqueue("k")
	f.drain(jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return nil }))
	ticks, err := f.client.ScheduleTicks(f.ctx, "s", 10)
	f.must(err)
	want(f, "ticks", len(ticks), 0)
}

// The database refuses the jobs of one schedule.
func testScheduleRefused(f *fixture) {
	f.sql("insert_schedule", "MORE_COLUMNS", "options", "MORE_VALUES", `'{"priority": 1000000}'`)
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("good", "@every 1s", "k", json.RawMessage("{}"))))
	ran := make(chan struct{}, 100)
	f.start(jobs.Config{}, on("k", func(context.Context, jobs.Job) error {
		ran <- struct{}{}
		return nil
	}))
	for range 3 {
		receive(f, "a job of the good one", ran)
	}
	ticks, err := f.client.ScheduleTicks(f.ctx, "plain", 10)
	f.must(err)
	want(f, "ticks of the bad one", len(ticks), 0)
}

// A trigger of the application refuses the jobs of one schedule: it says so at its first tick, and fires when the trigger is gone.
func testRefusedSchedule(f *fixture, rules func(*fixture, string)) {
	rules(f, "refuse_kind")
	for name, kind := range map[string]string{"bad": "refused", "good": "k"} {
		f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule(name, "@every 1s", kind, json.RawMessage("{}"))))
	}
	ran := make(chan string, 100)
	handle := func(_ context.Context, job jobs.Job) error {
		ran <- job.Kind
		return nil
	}
	f.start(jobs.Config{}, on("k", handle), on("refused", handle))
	for range 3 {
		want(f, "the kind of a job that ran", receive(f, "a job of the good one", ran), "k")
	}
	info, err := f.client.GetSchedule(f.ctx, "bad")
	f.must(err)
	if info.State() != jobs.ScheduleFaulty || !strings.Contains(info.Fault, "no such job today") {
		f.Errorf("the bad one is %s: %q", info.State(), info.Fault)
	}
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("bad", "@every 1s", "refused", json.RawMessage("{}"))))
	again, err := f.client.GetSchedule(f.ctx, "bad")
	f.must(err)
	want(f, "the tick that is due after a runner has declared the bad one again", again.Next, info.Next)
	rules(f, "refuse_kind_gone")
	for receive(f, "a job of the bad one", ran) != "refused" {
	}
	info, err = f.client.GetSchedule(f.ctx, "bad")
	f.must(err)
	want(f, "the fault of one that fires", info.Fault, "")
}

// A trigger of the application drops the cancellation of a schedule's last job: no other schedule waits.
func testIgnoredCancelOfASchedule(f *fixture, rules func(*fixture, string)) {
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("bad", "@every 1s", "waits", json.RawMessage("{}"), jobs.OverlapReplace)))
	rules(f, "ignore_cancels")
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("good", "@every 1s", "k", json.RawMessage("{}"))))
	f.start(jobs.Config{}, on("k", nothing))
	f.wantTicksOf("good", 4)
	rules(f, "ignore_cancels_gone")
}

// More schedules are due than one transaction fires, and more of them cannot be served than it lists: none of the others waits.
func testManySchedules(f *fixture) {
	const bad, good = 120, 150
	past := f.store.Now().Truncate(time.Minute).Add(-time.Hour)
	var names []string
	f.must(f.store.Write(f.ctx, func(ctx context.Context, q db.Querier) error {
		names = nil
		for i := range bad + good {
			p := db.PutScheduleParams{
				Name: fmt.Sprintf("a%03d", i), Kind: "k", Queue: "default", Payload: "{}", Options: `{"priority":1000000}`, Spec: "* * * * *", Zone: "UTC",
				CatchUp: "latest", Overlap: "allow", Origin: schedule.OriginClient, NextAt: core.Micros(past), Now: core.Micros(past),
			}
			if i >= bad {
				p.Name, p.Options, p.NextAt = fmt.Sprintf("b%03d", i), "{}", core.Micros(past.Add(time.Minute))
				names = append(names, p.Name)
			}
			if err := q.PutSchedule(ctx, p); err != nil {
				return err
			}
		}
		return nil
	}))
	f.start(jobs.Config{}, on("k", nothing))
	for _, name := range names {
		f.eventually("each good one has its job", func() bool {
			info, err := f.client.GetSchedule(f.ctx, name)
			f.must(err)
			return info.LastJob != 0
		})
	}
	f.eventually("a bad one says why", func() bool {
		info, err := f.client.GetSchedule(f.ctx, "a000")
		f.must(err)
		return info.State() == jobs.ScheduleFaulty && info.Fault != ""
	})
}

// steppingClock is a store whose clock goes on by a second with each transaction of a scheduler.
type steppingClock struct {
	engine.Store
	now time.Time
}

func (c *steppingClock) Now() time.Time { return c.now }

func (c *steppingClock) InsertWith(ctx context.Context, queue string, fn engine.InsertFunc) error {
	c.now = c.now.Add(time.Second)
	return c.Store.InsertWith(ctx, queue, fn)
}

// A schedule that falls due again and again is served each time while a scheduler finds the next ticks of many new ones.
func testManyNewSchedules(f *fixture) {
	clock := &steppingClock{Store: engine.StoreOf(f.client.Store()), now: f.store.Now()}
	since := clock.now.Add(-time.Second)
	s := maintenance.Upkeep{Store: clock, Log: quiet(), Declared: "[]", Notes: &refusal.Notes{Log: quiet()}}
	client := jobs.New(engine.SealStore(clock)) // by the scheduler's clock, however long the test takes
	f.must(client.PutSchedule(f.ctx, jobs.NewSchedule("often", "@every 1s", "k", json.RawMessage("{}"))))
	_, err := s.Once(f.ctx, since)
	f.must(err)
	before, err := f.client.ScheduleTicks(f.ctx, "often", 100)
	f.must(err)
	want(f, "new schedules", len(f.sql("insert_450_schedules")), 450)
	_, err = s.Once(f.ctx, since)
	f.must(err)
	after, err := f.client.ScheduleTicks(f.ctx, "often", 100)
	f.must(err)
	if served := len(after) - len(before); served < 4 {
		f.Errorf("the schedule was served %d times between 5 portions of new ones", served)
	}
	for _, name := range []string{"new 1", "new 450"} {
		info, err := f.client.GetSchedule(f.ctx, name)
		f.must(err)
		want(f, name+" has a next tick", !info.Next.IsZero(), true)
	}
}

// An open transaction of a caller that has put a schedule holds up no other one, where rows are locked one by one.
func testScheduleBesideATransaction(f *fixture) {
	if !f.store.LocksRows() {
		f.Skip("a transaction that writes holds up all others")
	}
	for _, name := range []string{"held", "free"} {
		f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule(name, "@every 1s", "k", json.RawMessage("{}"))))
	}
	tx, err := f.store.Begin(f.ctx)
	f.must(err)
	_, err = f.client.With(tx).PauseSchedule(f.ctx, "held")
	f.must(err)
	f.start(jobs.Config{}, on("k", nothing))
	f.eventually("the other one has jobs", func() bool {
		ticks, err := f.client.ScheduleTicks(f.ctx, "free", 10)
		f.must(err)
		return len(ticks) >= 3
	})
	f.must(tx.Rollback())
	f.eventually("the held one has a job", func() bool {
		ticks, err := f.client.ScheduleTicks(f.ctx, "held", 10)
		f.must(err)
		return len(ticks) >= 1
	})
}

// An open transaction of a caller that has the job that a schedule is to cancel holds up no other schedule, and no job that expires.
func testScheduleBesideALockedJob(f *fixture) {
	if !f.store.LocksRows() {
		f.Skip("a transaction that writes holds up all others")
	}
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("held", "@every 1s", "waits", json.RawMessage("{}"), jobs.OverlapReplace)))
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("free", "@every 1s", "k", json.RawMessage("{}"))))
	last := func() (job int64) {
		info, err := f.client.GetSchedule(f.ctx, "held")
		f.must(err)
		return info.LastJob
	}
	f.start(jobs.Config{}, on("k", nothing))
	f.eventually("the schedule has a job", func() bool { return last() != 0 })
	tx, err := f.store.Begin(f.ctx)
	f.must(err)
	defer func() { _ = tx.Rollback() }() // after a rollback it does nothing
	f.eventually("a transaction has the last job", func() bool {
		if err := f.client.With(tx).Update(f.ctx, last(), jobs.SetPriority(3)); err == nil {
			return true
		}
		f.must(tx.Rollback()) // it was replaced meanwhile
		tx, err = f.store.Begin(f.ctx)
		f.must(err)
		return false
	})
	held := last()
	expires := f.enqueue("waits", jobs.StartWithin(time.Second))
	f.wantTicksOf("free", 4)
	want(f, "what became of a job that was not started in time", f.ended(expires).Status, jobs.StatusCancelled)
	want(f, "the last job of the held one", last(), held)
	f.must(tx.Rollback())
	f.eventually("the held one goes on", func() bool { return last() != held })
	want(f, "what became of the job", f.ended(held).Status, jobs.StatusCancelled)
}

// wantTicksOf waits until a schedule has had some ticks, from now on.
func (f *fixture) wantTicksOf(name string, n int) {
	f.Helper()
	first := int64(-1)
	f.eventually(fmt.Sprintf("schedule %s has %d more ticks", name, n), func() bool {
		info, err := f.client.GetSchedule(f.ctx, name)
		f.must(err)
		if first < 0 {
			first = info.Next.Unix()
		}
		return info.Next.Unix()-first >= int64(n)
	})
}

func testScheduleClosed(f *fixture) {
	t := f.ticking()
	f.closeQueue()
	_, run := f.client.RunSchedule(f.ctx, "s")
	f.wantMoved("run", run)
	_, pause := f.client.PauseSchedule(f.ctx, "s")
	f.wantMoved("pause", pause)
	f.wantMoved("put", f.client.PutSchedule(f.ctx, jobs.NewSchedule("other", "@daily", "k", json.RawMessage("{}"))))
	now := t.begin.Add(time.Minute)
	err := engine.StoreOf(f.store).Write(f.ctx, func(ctx context.Context, q db.Querier) error {
		row, err := q.GetSchedule(ctx, "s")
		if err != nil {
			return err
		}
		if err := schedule.Fire(ctx, q, row, schedule.Watch{Now: now, Since: now, DeferUntil: now}, &schedule.Fired{}); err != nil {
			return err
		}
		return lifecycle.CheckOpen(ctx, q)
	})
	f.wantMoved("fire", err)
}
