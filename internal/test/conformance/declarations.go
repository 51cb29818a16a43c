package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// declarationTests cover the declarations of programs: the newest content that a live worker declares is in force.
var declarationTests = []test{
	{"OfTheNewestLiveWorker", testNewestDeclaration},
	{"KeepFollowsTheLiveWorkers", testKeepOfLiveWorkers},
	{"ForcedUntilTheNextStart", testForcedSchedule},
	{"SomeFieldsOfASchedule", testSetSchedule},
	{"TicksOfAFormerSpecification", testTicksOfFormerSpec},
	{"VersionThatNoWorkerKnows", testUnknownVersion},
	{"KindsOfOtherPrograms", testUndeclared},
	{"OldOnesGo", testOldDeclarations},
	{"OfALaterForm", testLaterDeclaration},
}

// declaring starts a runner of a separate process that declares the schedule s.
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

// After an abandoned deploy the old program cannot run jobs of the new one's version, which is reported before it tries.
func testUnknownVersion(f *fixture) {
	in := inspect.New(f.client)
	kind := func(version int) jobs.Kind[json.RawMessage] {
		return jobs.Kind[json.RawMessage]{Name: "k", Version: version}
	}
	program := func(version int) *running {
		f.Helper()
		return f.startOn(f.elsewhere(), jobs.Config{}, onKind(kind(version), nothing))
	}
	unknown := func(versions string) {
		f.Helper()
		f.eventually("versions that no worker knows are "+versions, func() bool {
			stats, err := in.Stats(f.ctx)
			f.must(err)
			return fmt.Sprint(stats.UnknownVersions) == versions
		})
	}
	_, err := f.client.PauseKind(f.ctx, jobs.DefaultQueue, "k")
	f.must(err)
	older := program(1)
	f.live(1)
	unknown("[]")
	given := program(2)
	f.live(2)
	f.must(given.stop())
	receipt, err := kind(2).Enqueue(f.ctx, f.client, json.RawMessage("{}"))
	f.must(err)
	unknown("[{k 2 1}]")
	why := func() (texts []string) {
		d, err := in.Why(f.ctx, receipt.ID)
		f.must(err)
		for _, finding := range d.Findings {
			if finding.Reason == inspect.ReasonUnknownVersion {
				texts = append(texts, finding.Text)
			}
		}
		return texts
	}
	workers, err := in.Workers(f.ctx)
	f.must(err)
	want(f, "why", fmt.Sprint(why()), fmt.Sprintf("[no live worker knows version 2 of the payloads of its kind: worker %q knows 1]", workers[0].Name))
	newer := program(2)
	f.live(2)
	unknown("[]")
	want(f, "reasons beside a worker that knows it", len(why()), 0)
	f.must(newer.stop())
	f.must(older.stop())
}

// A program for jobs of other programs takes all versions, and declares nothing of their kinds.
func testUndeclared(f *fixture) {
	own := f.startOn(f.elsewhere(), jobs.Config{}, onKind(jobs.Kind[json.RawMessage]{Name: "k", Version: 1, Keep: time.Hour}, nothing))
	f.eventually("the rule is there", func() bool {
		rules, err := inspect.New(f.client).Retentions(f.ctx)
		f.must(err)
		return len(rules) == 1
	})
	f.must(own.stop())
	guest := f.startOn(f.elsewhere(), jobs.Config{Undeclared: true}, onKind(jobs.Kind[json.RawMessage]{Name: "k", Version: jobs.AnyVersion}, nothing))
	f.live(1)
	workers, err := inspect.New(f.client).Workers(f.ctx)
	f.must(err)
	want(f, "declared versions", len(workers[0].Versions), 0)
	want(f, "takes a version", workers[0].Takes("k", 7), true)
	want(f, "takes another kind", workers[0].Takes("other", 0), false)
	rules, err := inspect.New(f.client).Retentions(f.ctx)
	f.must(err)
	want(f, "rules", len(rules), 1)
	f.must(guest.stop())
}

// The contents of a schedule that no worker has declared for long are removed, all together: while one of them is declared, the others
// stay, so that a program that starts again after long is not taken for a newer one. The settings of kinds stay.
func testOldDeclarations(f *fixture) {
	const older, newer = "@every 2h", "@every 3h"
	_, clock, _ := f.late(0, false)
	clock.late.Store(int64(8 * 24 * time.Hour))
	prunes := func(wanted int) {
		f.Helper()
		_, err := (&maintenance.Pruner{
			Scope: &engine.Scope{Store: clock}, Log: quiet(), Notes: &refusal.Notes{},
			Retention: prune.Retention{Done: prune.Forever, Failed: prune.Forever, Cancelled: prune.Forever, Audit: prune.Forever},
		}).Pass(f.ctx)
		f.must(err)
		f.write(func(ctx context.Context, q db.Querier) error {
			rows, err := q.ListDeclarations(ctx)
			want(f, "contents of a schedule and a kind", len(rows), wanted)
			return err
		})
	}
	first := f.declaring(older, `"old"`)
	f.eventuallySchedule(older, `"old"`)
	second := f.declaring(newer, `"new"`)
	f.eventuallySchedule(newer, `"new"`)
	f.must(first.stop())
	prunes(3)
	first = f.declaring(older, `"old"`)
	f.live(2)
	f.write(func(ctx context.Context, q db.Querier) error {
		rows, err := q.ListDeclarations(ctx)
		for _, r := range rows {
			if r.Subject != "kind" && (r.Ordinal == 2) != strings.Contains(r.Body, newer) {
				f.Errorf("the content %s is the number %d", r.Body, r.Ordinal)
			}
		}
		return err
	})
	f.must(first.stop())
	f.must(second.stop())
	prunes(1)
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

// A declaration of a later form counts where this program can read it, and refuses no program.
func testLaterDeclaration(f *fixture) {
	kind := jobs.Kind[json.RawMessage]{Name: "k", MaxAttempts: 2, Timeout: time.Hour, Queue: "q", Priority: 3}
	f.declareKind(kind)
	for body, set := range map[string]int{
		`{"max_attempts":"many","timeout":{"seconds":1},"queue":["q"],"priority":1.5,"version":"2"}`: 0,
		`{"max_attempts":null,"timeout":true,"queue":7,"priority":"3"}`:                              0,
		`{"max_attempts":7,"timeout":1e3,"limits":[1]}`:                                              7,
		`{"max_attempts":-5,"timeout":-5,"priority":99999999999,"queue":"a\u0009b"}`:                 0,
		`{"max_attempts":40000,"priority":-99999999999}`:                                             0,
		`{"x":"a\u0000b"}`: 0,
		`{"x":"\ud800"}`:   0,
	} {
		want(f, "rows", len(f.sql("set_declaration", "BODY", "'"+body+"'")), 1)
		other := f.elsewhere()
		receipt, err := other.Enqueue(f.ctx, "k", []byte("{}"))
		f.must(err)
		job, err := other.Get(f.ctx, receipt.ID)
		f.must(err)
		want(f, body+": queue", job.Queue, jobs.DefaultQueue)
		want(f, body+": priority", job.Priority, 0)
		want(f, body+": timeout", job.Timeout, 0)
		want(f, body+": attempts", job.MaxAttempts, cmp.Or(set, jobs.DefaultMaxAttempts))
		_, err = inspect.New(other).Stats(f.ctx)
		f.must(err)
		f.declareKind(kind)
	}
}
