package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var auditTests = []test{
	{"EveryChange", testAuditEveryChange},
	{"Many", testAuditMany},
	{"NothingChanged", testAuditNothingChanged},
	{"NoActor", testAuditNoActor},
	{"InTheCallersTransaction", testAuditInTransaction},
	{"Actor", testAuditActor},
	{"Pauses", testAuditPauses},
	{"PausesTogether", testAuditPausesTogether},
	{"Filters", testAuditFilters},
	{"OldEntries", testAuditOldEntries},
}

// audit returns the changes by people, oldest first.
func (f *fixture) audit(filter inspect.AuditFilter) []inspect.AuditEntry {
	f.Helper()
	list, err := inspect.New(f.client).Audit(f.ctx, filter)
	f.must(err)
	slices.Reverse(list)
	return list
}

// as returns a context with an actor.
func (f *fixture) as(actor string) context.Context { return jobs.WithActor(f.ctx, actor) }

// wantAudit compares all entries without their ids and times.
func (f *fixture) wantAudit(wanted ...inspect.AuditEntry) {
	f.Helper()
	have := f.audit(inspect.AuditFilter{})
	for i := range have {
		if have[i].ID <= 0 || have[i].At.IsZero() || have[i].At.After(f.store.Now()) {
			f.Errorf("entry %d has the id %d and the time %v", i, have[i].ID, have[i].At)
		}
		have[i].ID, have[i].At = 0, time.Time{}
	}
	h, err := json.MarshalIndent(have, "", " ")
	f.must(err)
	w, err := json.MarshalIndent(append([]inspect.AuditEntry{}, wanted...), "", " ")
	f.must(err)
	if string(h) != string(w) {
		f.Errorf("the entries are\n%s\nnot\n%s", h, w)
	}
}

func testAuditEveryChange(f *fixture) {
	payload := json.RawMessage(`"the payload is not noted"`)
	receipt, err := f.client.Enqueue(f.as("ann"), "k", payload, jobs.Queue("q"), jobs.RequestID("r"))
	f.must(err)
	id := receipt.ID
	_, err = f.client.PauseQueue(f.as("bob"), "q")
	f.must(err)
	_, err = f.client.ResumeQueue(f.as("bob"), "q")
	f.must(err)
	_, err = f.client.Cancel(f.as("ann"), id)
	f.must(err)
	f.must(f.client.Retry(f.as("cleo"), id, jobs.AuditDetail(map[string]string{"why": "again"})))
	started, release := make(chan struct{}), make(chan struct{})
	r := f.start(jobs.Config{Queues: map[string]int{"q": 1}}, on("k", func(ctx context.Context, _ jobs.Job) error {
		close(started)
		<-ctx.Done()
		<-release
		return context.Cause(ctx)
	}))
	receive(f, "the start", started)
	_, err = f.client.Cancel(f.as("dan"), id)
	f.must(err)
	close(release)
	f.ended(id)
	f.must(r.stop())
	f.must(f.client.Delete(f.as("eve"), id))
	ids, err := receipts.IDs(f.client.EnqueueMany(f.as("ann"), "k", []json.RawMessage{payload, payload}))
	f.must(err)
	one := inspect.AuditEntry{JobID: id, Kind: "k", Queue: "q", Jobs: 1}
	by := func(e inspect.AuditEntry, actor string, action inspect.Action) inspect.AuditEntry {
		e.Actor, e.Action = actor, action
		return e
	}
	retried := by(one, "cleo", inspect.ActionRetry)
	retried.Detail = json.RawMessage(`{"why":"again"}`)
	f.wantAudit(
		by(one, "ann", inspect.ActionEnqueue),
		inspect.AuditEntry{Actor: "bob", Action: inspect.ActionPause, Queue: "q"},
		inspect.AuditEntry{Actor: "bob", Action: inspect.ActionResume, Queue: "q", Detail: json.RawMessage(`{"ended":{"by":"bob"}}`)},
		by(one, "ann", inspect.ActionCancel), retried, by(one, "dan", inspect.ActionCancel), by(one, "eve", inspect.ActionDelete),
		inspect.AuditEntry{Actor: "ann", Action: inspect.ActionEnqueue, Kind: "k", Queue: "default", Jobs: 2, JobIDs: ids},
	)
}

// Many jobs that change together are one entry for each transaction, with the changed jobs and no others.
func testAuditMany(f *fixture) {
	const n = 1203
	var payloads []json.RawMessage
	for range n {
		payloads = append(payloads, json.RawMessage("1"))
	}
	ids, err := receipts.IDs(f.client.EnqueueMany(f.as("ann"), "k", payloads))
	f.must(err)
	_, err = f.client.Cancel(f.ctx, ids[700])
	f.must(err)
	filter := jobs.AuditDetail(map[string]any{"filter": map[string]string{"kind": "k"}})
	given := append([]int64{1 << 40}, ids...)
	slices.Reverse(given)
	changed, err := inspect.New(f.client).CancelMany(f.as("bob"), given, filter)
	f.must(err)
	want(f, "cancelled jobs", changed, n-1)
	changed, err = inspect.New(f.client).RetryMany(f.as("bob"), ids[:3], jobs.OnlyIf(jobs.StatusCancelled))
	f.must(err)
	want(f, "retried jobs", changed, 3)
	changed, err = inspect.New(f.client).DeleteMany(f.as("bob"), ids[1:4], jobs.OnlyIf(jobs.StatusPending))
	f.must(err)
	want(f, "deleted jobs", changed, 2)
	for _, id := range ids[:10] {
		_, err := f.client.Get(f.ctx, id)
		if gone := errors.Is(err, jobs.ErrNotFound); gone != slices.Contains(ids[1:3], id) {
			f.Errorf("job %d: %v", id, err)
		}
	}

	entries := f.audit(inspect.AuditFilter{})
	want(f, "entries", len(entries), 1+3+1+1)
	added := entries[0]
	if added.Jobs != n || added.JobIDs != nil || string(added.Detail) == "" {
		f.Errorf("the entry of many that were added is %+v", added)
	}
	var cancelled []int64
	for _, e := range entries[1:4] {
		if e.Action != inspect.ActionCancel || e.Actor != "bob" || e.Jobs != int64(len(e.JobIDs)) || string(e.Detail) != `{"filter":{"kind":"k"}}` {
			f.Errorf("an entry of those that were cancelled is %+v", e)
		}
		cancelled = append(cancelled, e.JobIDs...)
	}
	slices.Sort(cancelled)
	if !slices.Equal(cancelled, slices.Concat(ids[:700], ids[701:])) {
		f.Errorf("%d jobs are noted as cancelled", len(cancelled))
	}
	want(f, "jobs of the delete", entries[5].Jobs, 2)

	failed := []int64{f.fail("bad", "x"), f.fail("bad", "x")}
	count, err := inspect.New(f.client).RetryFailed(f.as("cleo"), inspect.FailedFilter{Kind: "bad"})
	f.must(err)
	want(f, "retried failed jobs", count, 2)
	last := f.audit(inspect.AuditFilter{Actor: "cleo"})
	if len(last) != 1 || last[0].Action != inspect.ActionRetry || last[0].Kind != "bad" || last[0].Jobs != 2 ||
		!slices.Contains(last[0].JobIDs, failed[0]) || !slices.Contains(last[0].JobIDs, failed[1]) ||
		string(last[0].Detail) != `{"filter":{"kind":"bad","status":"failed"}}` {
		f.Errorf("the entries of a retry of what failed are %+v", last)
	}

	pruned, err := inspect.New(f.client).Prune(f.as("dan"), jobs.StatusCancelled, 0)
	f.must(err)
	var noted int64
	for _, e := range f.audit(inspect.AuditFilter{Actor: "dan"}) {
		if e.Action != inspect.ActionPrune || !strings.Contains(string(e.Detail), `"status":"cancelled"`) {
			f.Errorf("an entry of a prune is %+v", e)
		}
		noted += e.Jobs
	}
	want(f, "jobs that are noted as pruned", noted, pruned)
	want(f, "pruned jobs", pruned, n-3)
}

func testAuditNothingChanged(f *fixture) {
	id := f.enqueue("k", jobs.Unique("u"), jobs.RequestID("r"))
	ctx := f.as("ann")
	receipt, err := f.client.Enqueue(ctx, "k", json.RawMessage("{}"), jobs.Unique("u"))
	f.must(err)
	want(f, "a job that was there", receipt.Existed, true)
	if err := f.client.Retry(ctx, id); !errors.Is(err, jobs.ErrStatus) {
		f.Errorf("to retry a pending job gives %v", err)
	}
	if _, err := f.client.Cancel(ctx, 12345); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("to cancel no job gives %v", err)
	}
	if err := f.client.Delete(ctx, id, jobs.OnlyIf(jobs.StatusFailed)); !errors.Is(err, jobs.ErrStatus) {
		f.Errorf("to delete a job with another status gives %v", err)
	}
	changed, err := inspect.New(f.client).RetryMany(ctx, []int64{id, 12345})
	f.must(err)
	want(f, "retried jobs", changed, 0)
	_, err = f.client.ResumeQueue(ctx, "q")
	f.must(err)
	_, err = inspect.New(f.client).RetryFailed(ctx, inspect.FailedFilter{})
	f.must(err)
	_, err = inspect.New(f.client).Prune(ctx, jobs.StatusDone, 0)
	f.must(err)
	_, err = f.client.EnqueueMany(ctx, "k", nil)
	f.must(err)
	f.closeQueue()
	_, err = f.client.Enqueue(ctx, "k", json.RawMessage("{}"))
	f.wantMoved("an enqueue", err)
	_, err = f.client.Cancel(ctx, id)
	f.wantMoved("a cancel", err)
	_, err = inspect.New(f.client).CancelMany(ctx, []int64{id})
	f.wantMoved("a cancel of many", err)
	f.wantAudit()
}

// A service's own changes have no actor, nor have those of its runners, whatever context started them.
func testAuditNoActor(f *fixture) {
	id := f.enqueue("k")
	_, err := f.client.Cancel(f.ctx, id)
	f.must(err)
	f.must(f.client.Retry(f.ctx, id))
	r := f.runner(f.client, jobs.Config{}, on("k", func(ctx context.Context, _ jobs.Job) error {
		_, err := f.client.Enqueue(ctx, "other", json.RawMessage("{}"))
		return err
	}))
	f.must(r.Drain(f.as("starter")))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
	f.must(f.client.Delete(f.ctx, id))
	f.wantAudit()
}

func testAuditInTransaction(f *fixture) {
	rollback := errors.New("rollback")
	for _, end := range []error{rollback, nil} {
		err := f.inTx(func(tx Tx) error {
			if _, err := f.client.With(tx).Enqueue(f.as("ann"), "k", json.RawMessage("{}")); err != nil {
				return err
			}
			return end
		})
		if !errors.Is(err, end) {
			f.Fatal(err)
		}
		n := 0
		if end == nil {
			n = 1
		}
		want(f, "entries", len(f.audit(inspect.AuditFilter{})), n)
	}
}

// A change whose actor has an invalid name is not made.
func testAuditActor(f *fixture) {
	id := f.enqueue("k")
	for _, actor := range []string{"", "a\nb", "\xff", strings.Repeat("\u00e9", jobs.MaxNameLength+1)} {
		ctx := f.as(actor)
		_, err := f.client.Enqueue(ctx, "k", json.RawMessage("{}"))
		wantInvalid(f, "an enqueue", err)
		_, err = f.client.EnqueueMany(ctx, "k", []json.RawMessage{json.RawMessage("{}")})
		wantInvalid(f, "an enqueue of many", err)
		_, err = f.client.Cancel(ctx, id)
		wantInvalid(f, "a cancel", err)
		_, err = inspect.New(f.client).CancelMany(ctx, []int64{id})
		wantInvalid(f, "a cancel of many", err)
		wantInvalid(f, "a retry", f.client.Retry(ctx, id))
		wantInvalid(f, "a delete", f.client.Delete(ctx, id))
		_, err = f.client.PauseQueue(ctx, "q")
		wantInvalid(f, "a pause", err)
		_, err = inspect.New(f.client).RetryFailed(ctx, inspect.FailedFilter{})
		wantInvalid(f, "a retry of what failed", err)
		_, err = inspect.New(f.client).Prune(ctx, jobs.StatusDone, 0)
		wantInvalid(f, "a prune", err)
	}
	_, err := f.client.Cancel(f.as("ann"), id, jobs.AuditDetail(func() {}))
	if err == nil {
		f.Error("a detail that is no JSON is taken")
	}
	want(f, "status", f.get(id).Status, jobs.StatusPending)
	want(f, "jobs", len(f.list(inspect.Filter{})), 1)
	f.wantAudit()

	name := strings.Repeat("\u00e9", jobs.MaxNameLength)
	_, err = f.client.Cancel(f.as(name), id)
	f.must(err)
	want(f, "actor", f.audit(inspect.AuditFilter{})[0].Actor, name)
}

// The audit has the pause that another one replaced, one that did not hold, and the one that a resume ended.
func testAuditPauses(f *fixture) {
	now := f.store.Now().Truncate(time.Second)
	soon, late := now.Add(time.Hour), now.Add(2*time.Hour)
	pause := func(actor string, wanted bool, opts ...jobs.PauseOption) {
		f.Helper()
		changed, err := f.client.PauseKind(f.as(actor), "q", "k", opts...)
		f.must(err)
		want(f, "whether "+actor+" changed something", changed, wanted)
	}
	pause("ann", true, jobs.PauseUntil(soon), jobs.PauseReason(" the provider is down\n"))
	pause("bob", true, jobs.PauseUntil(late))
	pause("cay", false, jobs.PauseUntil(soon), jobs.PauseReason("too many requests"))
	pause("dan", true, jobs.PauseReason("an incident"))
	pause("eve", false, jobs.PauseReason("another one"))
	_, err := f.client.ResumeKind(f.as("ann"), "q", "k")
	f.must(err)
	_, err = f.client.ResumeKind(f.as("ann"), "q", "k") // which changes nothing
	f.must(err)
	entry := func(actor string, action inspect.Action, detail string) inspect.AuditEntry {
		detail = strings.NewReplacer("SOON", soon.UTC().Format(time.RFC3339), "LATE", late.UTC().Format(time.RFC3339)).Replace(detail)
		return inspect.AuditEntry{Actor: actor, Action: action, Queue: "q", Kind: "k", Detail: json.RawMessage(detail)}
	}
	f.wantAudit(
		entry("ann", inspect.ActionPauseKind, `{"until":"SOON","reason":"the provider is down"}`),
		entry("bob", inspect.ActionPauseKind, `{"until":"LATE","replaced":{"until":"SOON","by":"ann","reason":"the provider is down"}}`),
		entry("cay", inspect.ActionPauseKind, `{"until":"SOON","reason":"too many requests","kept":{"until":"LATE","by":"bob"}}`),
		entry("dan", inspect.ActionPauseKind, `{"reason":"an incident","replaced":{"until":"LATE","by":"bob"}}`),
		entry("eve", inspect.ActionPauseKind, `{"reason":"another one","kept":{"by":"dan","reason":"an incident"}}`),
		entry("ann", inspect.ActionResumeKind, `{"ended":{"by":"dan","reason":"an incident"}}`),
	)
}

// When many pause and resume at once, each entry of the audit names the pause that the entry before it left.
func testAuditPausesTogether(f *fixture) {
	now := f.store.Now()
	var group sync.WaitGroup
	for i := range 8 {
		client := f.client
		if i%2 == 1 {
			client = f.elsewhere()
		}
		group.Go(func() {
			for n := range 6 {
				ctx := jobs.WithActor(f.ctx, fmt.Sprint(i, "/", n))
				var err error
				if n%3 == 2 {
					_, err = client.ResumeQueue(ctx, "q")
				} else {
					_, err = client.PauseQueue(ctx, "q", jobs.PauseUntil(now.Add(time.Duration(1+(i*5+n*7)%11)*time.Hour)))
				}
				if err != nil {
					f.Errorf("%d/%d: %v", i, n, err)
				}
			}
		})
	}
	group.Wait()
	type pause struct{ By string }
	holds := ""
	for _, e := range f.audit(inspect.AuditFilter{}) {
		var said struct{ Replaced, Kept, Ended *pause }
		f.must(json.Unmarshal(e.Detail, &said))
		before, after := "", e.Actor
		switch {
		case said.Replaced != nil:
			before = said.Replaced.By
		case said.Kept != nil:
			before, after = said.Kept.By, said.Kept.By
		case said.Ended != nil:
			before, after = said.Ended.By, ""
		}
		want(f, "the pause before "+e.Actor+", "+string(e.Action), before, holds)
		holds = after
	}
	queues, err := inspect.New(f.client).Queues(f.ctx)
	f.must(err)
	if len(queues) > 0 {
		want(f, "the pause that is left", queues[0].PausedBy, holds)
	}
}

func testAuditFilters(f *fixture) {
	var ids []int64
	for range 5 {
		receipt, err := f.client.Enqueue(f.as("ann"), "k", json.RawMessage("{}"))
		f.must(err)
		ids = append(ids, receipt.ID)
	}
	_, err := inspect.New(f.client).CancelMany(f.as("bob"), ids[1:3])
	f.must(err)
	_, err = f.client.Cancel(f.as("bob"), ids[0])
	f.must(err)
	_, err = f.client.PauseQueue(f.as("bob"), "q")
	f.must(err)
	all := f.audit(inspect.AuditFilter{})
	want(f, "entries", len(all), 8)
	for _, t := range []struct {
		name   string
		filter inspect.AuditFilter
		want   []inspect.AuditEntry
	}{
		{"actor", inspect.AuditFilter{Actor: "bob"}, all[5:]},
		{"action", inspect.AuditFilter{Action: inspect.ActionCancel}, all[5:7]},
		{"both", inspect.AuditFilter{Actor: "ann", Action: inspect.ActionCancel}, nil},
		{"job", inspect.AuditFilter{Job: ids[0]}, []inspect.AuditEntry{all[0], all[6]}},
		{"job among many", inspect.AuditFilter{Job: ids[2]}, []inspect.AuditEntry{all[2], all[5]}},
		{"job and action", inspect.AuditFilter{Job: ids[2], Action: inspect.ActionCancel}, all[5:6]},
		{"job and actor", inspect.AuditFilter{Job: ids[2], Actor: "ann"}, all[2:3]},
		{"job without changes", inspect.AuditFilter{Job: 12345}, nil},
		{"job below an entry", inspect.AuditFilter{Job: ids[2], After: all[5].ID}, all[2:3]},
		{"since", inspect.AuditFilter{Since: f.store.Now().Add(time.Hour)}, nil},
		{"since long ago", inspect.AuditFilter{Since: f.store.Now().Add(-time.Hour)}, all},
		{"after", inspect.AuditFilter{After: all[3].ID}, all[:3]},
		{"limit", inspect.AuditFilter{Limit: 2}, all[6:]},
	} {
		have := f.audit(t.filter)
		same := slices.EqualFunc(have, t.want, func(a, b inspect.AuditEntry) bool { return a.ID == b.ID })
		if !same {
			f.Errorf("filter by %s gives %+v, not %+v", t.name, have, t.want)
		}
	}
	for name, filter := range map[string]inspect.AuditFilter{
		"negative limit": {Limit: -1}, "high limit": {Limit: inspect.MaxPage + 1}, "negative cursor": {After: -1}, "negative job": {Job: -1},
		"actor with a NUL": {Actor: "a\x00"}, "action that is no UTF-8": {Action: "\xff"},
	} {
		_, err := inspect.New(f.client).Audit(f.ctx, filter)
		wantInvalid(f, name, err)
	}
}

func testAuditOldEntries(f *fixture) {
	const begin int64 = 1_700_000_000_000_000
	f.write(func(ctx context.Context, q db.Querier) error {
		for at := int64(1); at <= 10; at++ {
			if err := q.AddAudit(ctx, db.AddAuditParams{Now: begin + at, Actor: "a", Action: "pause"}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, step := range []struct{ before, n, deleted, left int64 }{{1, 5, 0, 10}, {8, 3, 3, 7}, {8, 5, 4, 3}, {8, 5, 0, 3}} {
		f.write(func(ctx context.Context, q db.Querier) error {
			n, err := q.DeleteOldAudit(ctx, db.DeleteOldAuditParams{Before: begin + step.before, N: step.n})
			want(f, "deleted entries", n, step.deleted)
			return err
		})
		list := f.audit(inspect.AuditFilter{})
		want(f, "entries that are left", int64(len(list)), step.left)
		want(f, "time of the oldest", list[0].At.UnixMicro()-begin, 11-step.left)
	}
}
