package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// declarationTests cover what programs declare: the newest content that a live worker declares is in force.
var declarationTests = []test{
	{"OfTheNewestLiveWorker", testNewestDeclaration},
	{"KeepFollowsTheLiveWorkers", testKeepOfLiveWorkers},
	{"ForcedUntilTheNextStart", testForcedSchedule},
	{"SomeFieldsOfASchedule", testSetSchedule},
	{"TicksOfAFormerSpecification", testTicksOfFormerSpec},
}

// declaring starts a runner of a process of its own that declares the schedule s.
func (f *fixture) declaring(spec, payload string) *running {
	f.Helper()
	r := f.runner(f.elsewhere(), jobs.Config{}, on("k", nothing))
	r.Schedule(jobs.NewSchedule("s", spec, "k", json.RawMessage(payload)))
	return f.run(r)
}

// eventuallySchedule waits until the schedule s has a specification and a payload.
func (f *fixture) eventuallySchedule(spec, payload string) {
	f.Helper()
	f.eventually("the schedule is "+spec+" "+payload, func() bool {
		s, err := f.client.GetSchedule(f.ctx, "s")
		return err == nil && s.Spec == spec && string(s.Payload) == payload && s.Declared
	})
}

// Old processes that start again do not take over from newer ones. When the newer ones are gone, the old content is in force again.
func testNewestDeclaration(f *fixture) {
	const older, newer = "@every 2h", "@every 3h"
	old1, old2 := f.declaring(older, `"old"`), f.declaring(older, `"old"`)
	f.eventuallySchedule(older, `"old"`)
	new1, new2 := f.declaring(newer, `"new"`), f.declaring(newer, `"new"`)
	f.eventuallySchedule(newer, `"new"`)
	f.live(4)
	f.must(old2.stop())
	old2 = f.declaring(older, `"old"`)
	f.live(4)
	f.must(old1.stop())
	f.must(old2.stop())
	f.eventuallySchedule(newer, `"new"`)
	old1 = f.declaring(older, `"old"`)
	f.live(3)
	f.eventuallySchedule(newer, `"new"`)
	f.must(new1.stop())
	f.must(new2.stop())
	f.eventuallySchedule(older, `"old"`)
	f.must(old1.stop())
}

// The time for which done jobs are kept is that of the newest live worker, and the last one stays.
func testKeepOfLiveWorkers(f *fixture) {
	program := func(keep time.Duration) *running {
		f.Helper()
		return f.startOn(f.elsewhere(), jobs.Config{}, onKind(jobs.Kind[json.RawMessage]{Name: "k", Keep: keep}, nothing))
	}
	keeps := func(keep time.Duration) {
		f.Helper()
		f.eventually(fmt.Sprint("done jobs are kept for ", keep), func() bool {
			rules, err := inspect.New(f.client).Retentions(f.ctx)
			f.must(err)
			return len(rules) == 1 && rules[0].Keep == keep
		})
	}
	long := program(720 * time.Hour)
	keeps(720 * time.Hour)
	short := program(time.Hour)
	keeps(time.Hour)
	f.must(short.stop())
	keeps(720 * time.Hour)
	f.must(long.stop())
	keeps(720 * time.Hour)
}

// A schedule that a live worker declares is replaced by force alone, until a worker starts with it. Both are in the audit log.
func testForcedSchedule(f *fixture) {
	r := f.declaring("@every 2h", `"code"`)
	f.eventuallySchedule("@every 2h", `"code"`)
	put := jobs.NewSchedule("s", "@every 3h", "k", json.RawMessage(`"person"`))
	err := f.client.PutSchedule(f.ctx, put)
	workers, listed := inspect.New(f.client).Workers(f.ctx)
	f.must(listed)
	if !errors.Is(err, jobs.ErrScheduleDeclared) || !strings.Contains(err.Error(), workers[0].Name) {
		f.Errorf("the error is %v", err)
	}
	f.must(f.client.PutSchedule(f.as("person"), put, jobs.Force()))
	f.eventuallySchedule("@every 3h", `"person"`)
	other := f.declaring("@every 2h", `"code"`)
	f.eventuallySchedule("@every 2h", `"code"`)
	list := f.audit(inspect.AuditFilter{})
	want(f, "entries", len(list), 2)
	for _, has := range []string{`"before":{`, `"payload":"person"`, `"spec":"@every 2h"`, `"origin":"code"`} {
		if !strings.Contains(strings.ReplaceAll(string(list[1].Detail), " ", ""), strings.ReplaceAll(has, " ", "")) {
			f.Errorf("the entry of the reversal has no %s: %s", has, list[1].Detail)
		}
	}
	want(f, "who put the schedule by force", list[0].Actor, "person")
	f.must(r.stop())
	f.must(other.stop())
}

// A change of some fields leaves the others as they are.
func testSetSchedule(f *fixture) {
	spec := "@every 2h"
	if err := f.client.SetSchedule(f.ctx, "s", jobs.ScheduleChange{Spec: &spec}); !errors.Is(err, jobs.ErrNoSchedule) {
		f.Errorf("a schedule that is not there: %v", err)
	}
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("s", "@every 1h", "k", json.RawMessage(`{"a": 1}`), jobs.Priority(7), jobs.OverlapSkip)))
	f.must(f.client.SetSchedule(f.as("person"), "s", jobs.ScheduleChange{Spec: &spec}))
	s, err := f.client.GetSchedule(f.ctx, "s")
	f.must(err)
	want(f, "the schedule", fmt.Sprint(s.Spec, string(s.Payload), string(s.Options), s.Overlap), `@every 2h{"a": 1}{"priority":7}skip`)
	f.must(f.client.SetSchedule(f.as("person"), "s", jobs.ScheduleChange{Payload: json.RawMessage(`{"a": 2}`)}))
	s, err = f.client.GetSchedule(f.ctx, "s")
	f.must(err)
	want(f, "the schedule then", fmt.Sprint(s.Spec, string(s.Payload), s.Overlap), `@every 2h{"a": 2}skip`)
	list := f.audit(inspect.AuditFilter{})
	want(f, "entries", len(list), 2)
	wrong := "no spec"
	wantInvalid(f, "a wrong specification", f.client.SetSchedule(f.ctx, "s", jobs.ScheduleChange{Spec: &wrong}))
}

// A due tick of the former specification that the new one has too is caught up, and another one is recorded as missed.
func testTicksOfFormerSpec(f *fixture) {
	minute := f.store.Now().Truncate(time.Minute)
	for _, test := range []struct{ name, spec, ticks string }{
		{"same", "*/1 * * * *", "0 enqueued since 5"},
		{"none", fmt.Sprintf("%d * * * *", (minute.Minute()+30)%60), "0 missed since 5"},
		{"some", fmt.Sprintf("%d * * * *", minute.Add(-3*time.Minute).Minute()), "0 missed since 5, 3 enqueued"},
	} {
		f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule(test.name, "* * * * *", "k", json.RawMessage("{}"))))
		f.write(func(ctx context.Context, q db.Querier) error {
			s, err := q.GetSchedule(ctx, test.name)
			if err != nil {
				return err
			}
			_, err = q.AdvanceSchedule(ctx, db.AdvanceScheduleParams{
				Name: s.Name, Version: s.Version, WasAt: s.NextAt, NextAt: minute.Add(-5 * time.Minute).UnixMicro(), Now: minute.UnixMicro(),
			})
			return err
		})
		f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule(test.name, test.spec, "k", json.RawMessage("{}"))))
		ticks, err := f.client.ScheduleTicks(f.ctx, test.name, 10)
		f.must(err)
		var have []string
		for _, t := range ticks {
			text := fmt.Sprint(int(minute.Sub(t.Tick)/time.Minute), " ", t.Outcome)
			if !t.MissedSince.IsZero() {
				text += fmt.Sprint(" since ", int(minute.Sub(t.MissedSince)/time.Minute))
			}
			have = append(have, text)
		}
		want(f, "ticks of "+test.name, strings.Join(have, ", "), test.ticks)
		s, err := f.client.GetSchedule(f.ctx, test.name)
		f.must(err)
		if !s.Next.After(minute) {
			f.Errorf("the next tick of %s is %v", test.name, s.Next)
		}
	}
}
