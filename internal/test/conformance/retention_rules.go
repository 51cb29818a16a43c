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
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// retentionRuleTests cover rules for how long ended jobs of a kind and a queue are kept.
var retentionRuleTests = []test{
	{"WhichCounts", testRetentionRules},
	{"FromTheCode", testRetentionFromCode},
	{"FromTheCodeTwice", testRetentionFromCodeTwice},
	{"KeptJobsAreNotReadAgain", testKeptNotReadAgain},
	{"WhenTheyEndLater", testRetentionOfLaterEnds},
	{"SetBack", testRetentionAfterRetry},
	{"TheNewestStaysEmptied", testNewestStays},
	{"TheNewestIsEmptiedAgain", testNewestEmptiedAgain},
	{"TheNewestOfSeveralSteps", testNewestOfSteps},
	{"Refused", testRetentionRefused},
	{"Shown", testRetentionShown},
	{"ByPlainSQL", testRetentionByPlainSQL},
	{"InTheCallersTransaction", testRetentionInTransaction},
}

// pruning does the work of a runner's service of retention, when the test says so.
type pruning struct {
	*fixture
	prune.JobPruner
	clock *lateClock
	looks *int // steps that were read
}

// looking counts the steps that a pruner reads.
type looking struct {
	engine.Store
	looks *int
}

func (l looking) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return l.Store.Read(ctx, func(ctx context.Context, q db.Querier) error { return fn(ctx, lookingQuerier{q, l.looks}) })
}

type lookingQuerier struct {
	db.Querier
	looks *int
}

func (q lookingQuerier) GetPruneStep(ctx context.Context, arg db.GetPruneStepParams) (db.GetPruneStepRow, error) {
	*q.looks++
	return q.Querier.GetPruneStep(ctx, arg)
}

// pruning makes a pruner, and a job behind all others that waits: the newest one stays as long as it is the newest.
func (f *fixture) pruning(keep prune.Retention) *pruning {
	f.Helper()
	f.waiting()
	return f.pruner(keep)
}

// waiting adds a job that is due in a year.
func (f *fixture) waiting() int64 {
	f.Helper()
	return f.enqueue("waiting", jobs.In(365*24*time.Hour))
}

func (f *fixture) pruner(keep prune.Retention) *pruning {
	f.Helper()
	_, clock, _ := f.late(0, false)
	p := &pruning{fixture: f, clock: clock, looks: new(int)}
	clock.Store = looking{clock.Store, p.looks}
	p.JobPruner = prune.JobPruner{Scope: &engine.Scope{Store: clock}, Notes: &refusal.Notes{Log: quiet()}, Keep: keep, Process: time.Now}
	return p
}

// pass makes one pass, and returns how many jobs it removed and how many steps it read.
func (p *pruning) pass() (removed int64, looks int) {
	p.Helper()
	*p.looks = 0
	sum, err := p.Pass(p.ctx)
	p.must(err)
	return sum.Deleted, *p.looks
}

// keep sets a rule.
func (f *fixture) keep(queue, kind string, status jobs.Status, keep time.Duration) {
	f.Helper()
	changed, err := inspect.New(f.elsewhere()).SetRetention(f.ctx, inspect.RetentionRule{Queue: queue, Kind: kind, Status: status, Keep: keep})
	f.must(err)
	want(f, "the rule is new", changed, true)
}

// unkeep removes one.
func (f *fixture) unkeep(queue, kind string, status jobs.Status) bool {
	f.Helper()
	found, err := inspect.New(f.client).RemoveRetention(f.ctx, inspect.RetentionRule{Queue: queue, Kind: kind, Status: status})
	f.must(err)
	return found
}

// Of all rules for a job the closest one counts, and a runner's own times where there is none.
func testRetentionRules(f *fixture) {
	type place struct {
		queue, kind string
		status      jobs.Status
	}
	const day, hour, minute = 24 * time.Hour, time.Hour, time.Minute
	rules := map[place]time.Duration{
		{"q", "k", jobs.StatusDone}:      2 * hour,
		{"", "k", jobs.StatusDone}:       jobs.Forever,
		{"q", "", jobs.StatusDone}:       10 * minute,
		{"", "", jobs.StatusFailed}:      3 * hour,
		{"", "k", jobs.StatusFailed}:     20 * minute,
		{"q", "", jobs.StatusCancelled}:  5 * hour,
		{"q", "l", jobs.StatusCancelled}: 30 * minute,
	}
	kept := map[place]time.Duration{ // what that means
		{"q", "k", jobs.StatusDone}: 2 * hour, {"r", "k", jobs.StatusDone}: jobs.Forever,
		{"q", "l", jobs.StatusDone}: 10 * minute, {"r", "l", jobs.StatusDone}: 4 * hour,
		{"q", "k", jobs.StatusFailed}: 20 * minute, {"r", "k", jobs.StatusFailed}: 20 * minute,
		{"q", "l", jobs.StatusFailed}: 3 * hour, {"r", "l", jobs.StatusFailed}: 3 * hour,
		{"q", "k", jobs.StatusCancelled}: 5 * hour, {"r", "k", jobs.StatusCancelled}: 40 * minute,
		{"q", "l", jobs.StatusCancelled}: 30 * minute, {"r", "l", jobs.StatusCancelled}: 40 * minute,
	}
	ids := map[place]int64{}
	for _, status := range []jobs.Status{jobs.StatusCancelled, jobs.StatusDone, jobs.StatusFailed} {
		for _, at := range []place{{"q", "k", status}, {"r", "k", status}, {"q", "l", status}, {"r", "l", status}} {
			ids[at] = f.enqueue(at.kind, jobs.Queue(at.queue), jobs.Metadata(map[string]any{"to": status}))
		}
		if status == jobs.StatusCancelled {
			for _, id := range ids {
				_, err := f.client.Cancel(f.ctx, id)
				f.must(err)
			}
		}
	}
	end := func(_ context.Context, job jobs.Job) error {
		if strings.Contains(string(job.Metadata), string(jobs.StatusFailed)) {
			return jobs.Discard(errors.New("no"))
		}
		return nil
	}
	f.drain(jobs.Config{Queues: map[string]int{"q": 1, "r": 1}}, on("k", end), on("l", end))
	for at, keep := range rules {
		f.keep(at.queue, at.kind, at.status, keep)
	}
	p := f.pruning(prune.Retention{Done: 4 * hour, Failed: prune.Forever, Cancelled: 40 * minute})
	for _, age := range []time.Duration{0, 15 * minute, 25 * minute, 35 * minute, 45 * minute, 150 * minute, 200 * minute, 270 * minute, 330 * minute, 3650 * day} {
		p.clock.late.Store(int64(age))
		p.pass()
		for at, id := range ids {
			_, err := f.client.Get(f.ctx, id)
			if there := err == nil; there != (kept[at] == jobs.Forever || age < kept[at]) {
				f.Errorf("%s after its end the job of %v is there: %v", age, at, there)
			}
		}
	}
}

// A program's retention of its kind holds until a program declares another one, and a set rule takes precedence.
func testRetentionFromCode(f *fixture) {
	kind := func(keep time.Duration) handle {
		return onKind(jobs.Kind[json.RawMessage]{Name: "k", Keep: keep}, nothing)
	}
	wantRules := func(when string, wanted ...string) {
		f.Helper()
		rules, err := inspect.New(f.client).Retentions(f.ctx)
		f.must(err)
		have := []string{}
		for _, r := range rules {
			have = append(have, fmt.Sprintf("%s %s code=%t hidden=%t", r, r.Keep, r.Code, r.Hidden))
		}
		if !slices.Equal(have, append([]string{}, wanted...)) {
			f.Errorf("%s the rules are %q, not %q", when, have, wanted)
		}
	}
	f.drain(jobs.Config{}, on("other", nothing))
	wantRules("without Keep")
	f.drain(jobs.Config{}, kind(time.Hour))
	wantRules("with an hour", `done jobs of kind "k" 1h0m0s code=true hidden=false`)
	f.drain(jobs.Config{}, on("other", nothing))
	wantRules("after a program without the kind", `done jobs of kind "k" 1h0m0s code=true hidden=false`)
	f.drain(jobs.Config{}, kind(jobs.Forever))
	wantRules("with Forever", `done jobs of kind "k" -1ns code=true hidden=false`)
	f.keep("", "k", jobs.StatusDone, time.Minute)
	wantRules("with one that was set", `done jobs of kind "k" 1m0s code=false hidden=false`, `done jobs of kind "k" -1ns code=true hidden=true`)
	f.drain(jobs.Config{}, kind(2*time.Hour))
	wantRules("after another start", `done jobs of kind "k" 1m0s code=false hidden=false`, `done jobs of kind "k" 2h0m0s code=true hidden=true`)

	id := f.enqueue("k")
	f.drain(jobs.Config{}, kind(2*time.Hour))
	p := f.pruning(prune.Retention{Done: prune.Forever, Failed: prune.Forever, Cancelled: prune.Forever})
	want(f, "removed", f.unkeep("", "k", jobs.StatusDone), true)
	p.clock.late.Store(int64(time.Hour))
	removed, _ := p.pass()
	want(f, "jobs removed while the program's rule counts", removed, 0)
	p.clock.late.Store(int64(3 * time.Hour))
	removed, _ = p.pass()
	want(f, "jobs removed in the end", removed, 1)
	f.wantGone(id)

	want(f, "removed, what a program said", f.unkeep("", "k", jobs.StatusDone), true)
	want(f, "removed twice", f.unkeep("", "k", jobs.StatusDone), false)
	wantRules("after all are removed")
	f.drain(jobs.Config{}, kind(2*time.Hour))
	for _, without := range []time.Duration{jobs.Nothing, 0} { // the newest program with the kind has no rule
		f.drain(jobs.Config{}, kind(2*time.Hour))
		wantRules("with two hours again", `done jobs of kind "k" 2h0m0s code=true hidden=false`)
		f.drain(jobs.Config{}, kind(without))
		wantRules("after a program without Keep")
	}
}

// A program that starts again changes nothing, also when its time is not in whole microseconds, as the rule is.
func testRetentionFromCodeTwice(f *fixture) {
	var put []time.Time
	for range 2 {
		f.drain(jobs.Config{}, onKind(jobs.Kind[json.RawMessage]{Name: "k", Keep: time.Hour + time.Nanosecond}, nothing))
		rules, err := inspect.New(f.client).Retentions(f.ctx)
		f.must(err)
		want(f, "rules", len(rules), 1)
		put = append(put, rules[0].At)
	}
	want(f, "when the rule was put", put[1], put[0])
}

// A pass reads no job again of which it is known that it is kept for longer.
func testKeptNotReadAgain(f *fixture) {
	const n, after = 3000, 20
	f.addMany("kept", n)
	f.fail("bad", "bad") // which is kept for ever
	f.drain(jobs.Config{}, on("kept", nothing))
	f.keep("", "kept", jobs.StatusDone, jobs.Forever)
	p := f.pruning(prune.Retention{Done: time.Microsecond, Failed: prune.Forever, Cancelled: prune.Forever})
	if removed, looks := p.pass(); removed != 0 || looks < n/prune.Chunk {
		f.Errorf("the first pass removed %d jobs in %d steps", removed, looks)
	}
	if removed, looks := p.pass(); removed != 0 || looks != 1 {
		f.Errorf("the second pass removed %d jobs in %d steps", removed, looks)
	}
	f.addMany("k", after)
	f.drain(jobs.Config{}, on("k", nothing))
	f.waiting()
	if removed, looks := p.pass(); removed != after || looks > 2 {
		f.Errorf("a pass over %d further jobs removed %d in %d steps", after, removed, looks)
	}
	if _, looks := p.pass(); looks != 1 {
		f.Errorf("the pass after that made %d steps", looks)
	}
	want(f, "removed", f.unkeep("", "kept", jobs.StatusDone), true)
	f.eventually("a pass heeds that the rules are others", func() bool {
		removed, looks := p.pass()
		if removed == 0 && looks != 1 {
			f.Errorf("a pass removed nothing in %d steps", looks)
		}
		return removed == n
	})
}

// Jobs that had not ended when a pass saw them go in time, also those among others that are kept.
func testRetentionOfLaterEnds(f *fixture) {
	f.keep("", "kept", jobs.StatusDone, jobs.Forever)
	f.keep("", "short", jobs.StatusDone, time.Second)
	f.addMany("kept", 600)
	f.addMany("short", 300)
	last := f.addMany("kept", 600)[599]
	f.drain(jobs.Config{}, on("kept", nothing))
	f.eventually("none is too young", func() bool { return f.store.Now().Sub(f.get(last).CreatedAt) > 2*time.Second })
	p := f.pruning(prune.Retention{Done: time.Hour, Failed: prune.Forever, Cancelled: prune.Forever})
	if removed, looks := p.pass(); removed != 0 || looks != 4 {
		f.Errorf("the first pass removed %d jobs in %d steps", removed, looks)
	}
	f.drain(jobs.Config{}, on("short", nothing))
	removed := int64(0)
	f.eventually("the jobs that are kept for a short time are gone", func() bool {
		n, _ := p.pass()
		removed += n
		return removed == 300
	})
	want(f, "jobs that are left", f.statuses()[jobs.StatusDone], 1200)
}

// A failed job that is retried counts from its new end, although a pass has seen it.
func testRetentionAfterRetry(f *fixture) {
	id := f.fail("k", "bad")
	p := f.pruning(prune.Retention{Done: time.Hour, Failed: 2 * time.Hour, Cancelled: time.Hour})
	p.clock.late.Store(int64(90 * time.Minute))
	p.pass()
	f.must(f.client.Retry(f.ctx, id))
	f.drain(jobs.Config{}, on("k", nothing))
	p.clock.late.Store(int64(59 * time.Minute))
	removed, _ := p.pass()
	want(f, "jobs removed before their time", removed, 0)
	p.clock.late.Store(int64(61 * time.Minute))
	removed, _ = p.pass()
	want(f, "jobs removed when it has come", removed, 1)
}

// The newest job stays until there is a later one, without its values and its keys. It cannot be retried.
func testNewestStays(f *fixture) {
	id := f.enqueue("old")
	options := []jobs.EnqueueOption{jobs.Unique("u"), jobs.RequestID("r"), jobs.UserID("ann"), jobs.Tags("a"), jobs.Metadata(map[string]any{"m": 1}), jobs.MaxAttempts(1)}
	newest := f.enqueue("k", options...)
	f.drain(jobs.Config{}, on("old", nothing), on("k", func(_ context.Context, job jobs.Job) error {
		f.must(job.SetProgress(f.ctx, 1))
		return errors.New("bad")
	}))
	before := f.get(newest)
	p := f.pruner(prune.Retention{Done: time.Hour, Failed: time.Hour, Cancelled: time.Hour})
	removed, _ := p.pass()
	want(f, "jobs removed before their time", removed, 0)
	want(f, "payload before its time", string(f.get(newest).Payload), string(before.Payload))
	p.clock.late.Store(int64(2 * time.Hour))
	removed, _ = p.pass()
	want(f, "jobs removed beside the newest", removed, 1)
	f.wantGone(id)
	job := f.get(newest)
	want(f, "status", job.Status, jobs.StatusFailed)
	want(f, "payload", string(job.Payload), `"`+jobs.Forgotten+`"`)
	want(f, "keys", job.UniqueKey+job.RequestID+job.UserID, "")
	want(f, "what else it carries", fmt.Sprint(job.Tags, string(job.Metadata), string(job.Progress), string(job.Result), job.LastError), fmt.Sprint([]string(nil), "", "", "", ""))
	want(f, "errors", len(f.errors(newest)), 0)
	f.wantCounts()
	if err := f.client.Retry(f.ctx, newest); !errors.Is(err, jobs.ErrStatus) {
		f.Errorf("its retry gives %v", err)
	}
	for range 2 {
		removed, looks := p.pass()
		want(f, "jobs removed as long as it is the newest", removed, 0)
		want(f, "steps that are read for it", looks, 1)
		want(f, "rows of sqluice_jobs, all of them jobs", f.sql("count_rows")[0], 1)
	}
	next := f.enqueue("k", options...)
	if next <= newest {
		f.Errorf("the id %d follows %d", next, newest)
	}
	removed, _ = p.pass()
	want(f, "jobs removed when there is a later one", removed, 1)
	f.wantGone(newest)
	f.wantCounts()

	f.must(f.client.Delete(f.ctx, next)) // which on SQLite leaves a row that is no job
	f.enqueue("k")
	_, err := (&maintenance.Pruner{
		Scope: engine.ScopeOf(f.client), Log: quiet(), Notes: &refusal.Notes{},
		Retention: prune.Retention{Done: prune.Forever, Failed: prune.Forever, Cancelled: prune.Forever, Audit: prune.Forever},
	}).Pass(f.ctx)
	f.must(err)
	want(f, "rows of sqluice_jobs after the next pass", f.sql("count_rows")[0], 1)
}

// A job that another program fills again, when it is already empty, is emptied again by the same pruner.
func testNewestEmptiedAgain(f *fixture) {
	newest := f.enqueue("k")
	f.drain(jobs.Config{}, on("k", nothing))
	p := f.pruner(prune.Retention{Done: time.Hour, Failed: time.Hour, Cancelled: time.Hour})
	p.clock.late.Store(int64(2 * time.Hour))
	for range 2 {
		p.pass()
		want(f, "payload after the pass", string(f.get(newest).Payload), `"`+jobs.Forgotten+`"`)
		f.sql("fill_ended")
		want(f, "payload that was filled in", string(f.get(newest).Payload), `{"again":1}`)
	}
}

// Jobs in front of the newest one, and the newest one itself, go by their own times when jobs behind it were deleted by hand, among many.
func testNewestOfSteps(f *fixture) {
	ids, err := receipts.IDs(f.client.EnqueueMany(f.ctx, "k", slices.Repeat([]json.RawMessage{json.RawMessage("{}")}, prune.Chunk+10)))
	f.must(err)
	f.drain(jobs.Config{}, on("k", nothing))
	p := f.pruner(prune.Retention{Done: time.Hour, Failed: time.Hour, Cancelled: time.Hour})
	p.pass()
	later, newest := ids[prune.Chunk-1:], ids[prune.Chunk-2]
	_, err = inspect.New(f.client).DeleteMany(f.ctx, later)
	f.must(err)
	p.clock.late.Store(int64(61 * time.Minute))
	p.Process = func() time.Time { return time.Now().Add(61 * time.Minute) }
	removed, _ := p.pass()
	want(f, "jobs removed in front of the newest", removed, int64(len(ids)-len(later)-1))
	want(f, "payload of the newest", string(f.get(newest).Payload), `"`+jobs.Forgotten+`"`)
	f.enqueue("k")
	removed, _ = p.pass()
	want(f, "jobs removed when there is a later one", removed, 1)
	f.wantGone(newest)
}

func testRetentionRefused(f *fixture) {
	in := inspect.New(f.client)
	for text, rule := range map[string]inspect.RetentionRule{
		"queue":         {Queue: strings.Repeat("q", 201), Status: jobs.StatusDone, Keep: time.Hour},
		"kind":          {Kind: "a\nb", Status: jobs.StatusDone, Keep: time.Hour},
		"status":        {Kind: "k", Status: jobs.StatusPending, Keep: time.Hour},
		"status \"\"":   {Kind: "k", Keep: time.Hour},
		"keep 0s":       {Kind: "k", Status: jobs.StatusDone},
		"keep -2ns":     {Kind: "k", Status: jobs.StatusDone, Keep: jobs.Nothing},
		"876000h0m0s":   {Kind: "k", Status: jobs.StatusDone, Keep: 876_001 * time.Hour},
		"be from 1s":    {Kind: "k", Status: jobs.StatusDone, Keep: time.Second - 1},
		"or Forever":    {Kind: "k", Status: jobs.StatusDone, Keep: -time.Hour},
		"not done, but": {},
	} {
		_, err := in.SetRetention(f.ctx, rule)
		wantInvalid(f, "the rule "+text, err)
		if err != nil && !strings.Contains(err.Error(), text) && rule.Status != "" {
			f.Errorf("%v does not say %q", err, text)
		}
		if rule.Status.Final() && !strings.HasPrefix(text, "queue") && !strings.HasPrefix(text, "kind") {
			continue // Keep says nothing of which rule to remove
		}
		_, err = in.RemoveRetention(f.ctx, rule)
		wantInvalid(f, "the removal of the rule "+text, err)
	}
	f.closeQueue()
	_, err := in.SetRetention(f.ctx, inspect.RetentionRule{Status: jobs.StatusDone, Keep: time.Hour})
	f.wantMoved("a rule", err)
}

func testRetentionShown(f *fixture) {
	id := f.one(nothing).ID
	f.wantWhy(id, inspect.ReasonEnded)
	in := inspect.New(f.client)
	for i, rule := range []inspect.RetentionRule{
		{Queue: jobs.DefaultQueue, Status: jobs.StatusDone, Keep: time.Hour},
		{Queue: jobs.DefaultQueue, Status: jobs.StatusDone, Keep: time.Hour}, // changes nothing
		{Kind: "k", Status: jobs.StatusDone, Keep: jobs.Forever},
	} {
		changed, err := in.SetRetention(f.as("ann"), rule)
		f.must(err)
		want(f, fmt.Sprint("rule ", i, " changes something"), changed, i != 1)
		text := f.wantWhy(id, inspect.ReasonEnded, inspect.ReasonKept).Findings[1].Text
		wanted := `kept for ever, by the rule for done jobs of kind "k"`
		if i < 2 {
			wanted = f.get(id).FinishedAt.Add(time.Hour).Format(time.RFC3339) + ", and then removed by a worker, by the rule for done jobs of queue \"default\""
		}
		if !strings.Contains(text, wanted) {
			f.Errorf("%q does not say %q", text, wanted)
		}
	}
	rules, err := in.Retentions(f.ctx)
	f.must(err)
	if len(rules) != 2 || rules[0].Kind != "k" || rules[0].By != "ann" || rules[0].At.IsZero() || rules[0].Code || rules[1].Queue != jobs.DefaultQueue || rules[1].Keep != time.Hour {
		f.Errorf("the rules are %+v", rules)
	}
	found, err := in.RemoveRetention(f.as("bob"), inspect.RetentionRule{Queue: jobs.DefaultQueue, Status: jobs.StatusDone})
	f.must(err)
	want(f, "there was one", found, true)
	f.wantAudit(
		inspect.AuditEntry{Actor: "ann", Action: inspect.ActionSetRetention, Queue: jobs.DefaultQueue, Detail: json.RawMessage(`{"keep": "1h", "status": "done"}`)},
		inspect.AuditEntry{Actor: "ann", Action: inspect.ActionSetRetention, Kind: "k", Detail: json.RawMessage(`{"keep": "forever", "status": "done"}`)},
		inspect.AuditEntry{Actor: "bob", Action: inspect.ActionRemoveRetention, Queue: jobs.DefaultQueue, Detail: json.RawMessage(`{"status": "done"}`)},
	)
}

func testRetentionByPlainSQL(f *fixture) {
	f.sql("insert_retention")
	id := f.one(nothing).ID
	p := f.pruning(prune.Retention{Done: prune.Forever, Failed: prune.Forever, Cancelled: prune.Forever})
	removed, _ := p.pass()
	want(f, "jobs removed before their time", removed, 0)
	p.clock.late.Store(int64(2 * time.Hour))
	removed, _ = p.pass()
	want(f, "jobs removed", removed, 1)
	f.wantGone(id)
}

func testRetentionInTransaction(f *fixture) {
	rule := inspect.RetentionRule{Kind: "k", Status: jobs.StatusFailed, Keep: time.Hour}
	tx, err := f.store.Begin(f.ctx)
	f.must(err)
	changed, err := inspect.New(f.client.With(tx)).SetRetention(f.ctx, rule)
	f.must(err)
	want(f, "set", changed, true)
	f.must(tx.Rollback())
	f.keep("", "k", jobs.StatusFailed, time.Hour)
	f.must(f.inTx(func(tx Tx) error {
		_, err := inspect.New(f.client.With(tx)).RemoveRetention(f.ctx, rule)
		return err
	}))
	want(f, "there after it was removed", f.unkeep("", "k", jobs.StatusFailed), false)
}
