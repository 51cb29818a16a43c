package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// pauseTests cover pauses of one kind in a queue. Those of whole queues are in dueTests.
var pauseTests = []test{
	{"OtherKindsGoOn", testKindPaused},
	{"EndsByItself", testKindPauseEnds},
	{"EndedWithoutAWorker", testKindPauseEndedBefore},
	{"Refused", testKindPauseRefused},
	{"NoStatementClaims", testNoStatementClaimsPaused},
	{"NotHandedOver", testPausedKindNotHanded},
	{"AfterOneThatIsOver", testKindPauseAfterOne},
	{"DrainLeavesThem", testDrainLeavesPausedKind},
	{"BehindThemCostsNothing", testPausedKindCostsNothing},
	{"InManyQueues", testPausedKindInManyQueues},
	{"WaitingJobsAreGivenBack", testPausedKindBehindSlots},
	{"Shown", testKindPauseShown},
	{"ByPlainSQL", testKindPauseByPlainSQL},
	{"InTheCallersTransaction", testKindPauseInTransaction},
}

// pauseKind pauses the kind k in the default queue.
func (f *fixture) pauseKind(opts ...jobs.PauseOption) bool {
	f.Helper()
	changed, err := f.client.PauseKind(f.ctx, jobs.DefaultQueue, "k", opts...)
	f.must(err)
	return changed
}

// resumeKind resumes it, as another process does.
func (f *fixture) resumeKind() bool {
	f.Helper()
	changed, err := f.elsewhere().ResumeKind(f.ctx, jobs.DefaultQueue, "k")
	f.must(err)
	return changed
}

func testKindPaused(f *fixture) {
	want(f, "paused", f.pauseKind(), true)
	want(f, "paused twice", f.pauseKind(), false)
	ran := make(chan int64, 10)
	note := func(_ context.Context, job jobs.Job) error {
		ran <- job.ID
		return nil
	}
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1, "other": 1}}, on("k", note), on("l", note))
	id := f.enqueue("k", jobs.Priority(9))
	due := f.enqueue("k", jobs.In(time.Millisecond))
	for i := range 5 {
		other := f.enqueue("l")
		want(f, fmt.Sprint("job of another kind ", i), receive(f, "that job", ran), other)
	}
	elsewhere := f.enqueue("k", jobs.Queue("other"))
	want(f, "the job of another queue", receive(f, "that job", ran), elsewhere)
	want(f, "status while paused", f.get(id).Status, jobs.StatusPending)
	want(f, "the due job while paused", f.get(due).Status.Final(), false)
	want(f, "resumed", f.resumeKind(), true)
	want(f, "the first job of the resumed kind", receive(f, "that job", ran), id)
	want(f, "the second", receive(f, "that job", ran), due)
	want(f, "resumed twice", f.resumeKind(), false)

	// A pause of the queue and one of the kind are two things.
	want(f, "paused again", f.pauseKind(), true)
	_, err := f.client.PauseQueue(f.ctx, jobs.DefaultQueue)
	f.must(err)
	id, other := f.enqueue("k"), f.enqueue("l")
	_, err = f.client.ResumeQueue(f.ctx, jobs.DefaultQueue)
	f.must(err)
	want(f, "the job of the resumed queue", receive(f, "that job", ran), other)
	want(f, "status of the kind that is still paused", f.get(id).Status, jobs.StatusPending)
	want(f, "resumed", f.resumeKind(), true)
	want(f, "the last job", receive(f, "that job", ran), id)
}

func testKindPauseEnds(f *fixture) {
	f.sql("insert_ended_kind_pause") // whose end is the least that a column takes: it keeps no other pause from ending
	far := f.store.Now().Add(time.Hour)
	for i, wanted := range []bool{
		f.pauseKind(jobs.PauseFor(time.Minute)), !f.pauseKind(jobs.PauseFor(time.Second)), f.pauseKind(jobs.PauseUntil(far)), !f.pauseKind(jobs.PauseUntil(far)),
		f.pauseKind(jobs.PauseFor(0)), !f.pauseKind(), !f.pauseKind(jobs.PauseUntil(far)),
	} {
		want(f, fmt.Sprint("pause ", i), wanted, true)
	}
	want(f, "resumed before", f.resumeKind(), true)
	f.startOn(f.elsewhere(), jobs.Config{}, on("k", nothing))
	f.live(1)
	want(f, "paused for a while", f.pauseKind(jobs.PauseFor(300*time.Millisecond)), true)
	id := f.enqueue("k")
	want(f, "status", f.ended(id).Status, jobs.StatusDone)
	want(f, "resumed after the end", f.resumeKind(), false)
}

func testKindPauseEndedBefore(f *fixture) {
	f.pauseKind(jobs.PauseFor(time.Millisecond))
	id := f.enqueue("k")
	f.eventually("the pause is over", func() bool {
		queues, err := inspect.New(f.client).Queues(f.ctx)
		f.must(err)
		return f.store.Now().After(queues[0].PausedKinds[0].Until)
	})
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
}

func testKindPauseRefused(f *fixture) {
	for text, names := range map[string][2]string{"queue": {"", "k"}, "kind": {"q", ""}, "at most 200": {"q", strings.Repeat("k", 201)}} {
		_, err := f.client.PauseKind(f.ctx, names[0], names[1])
		wantInvalid(f, "a pause with a wrong "+text, err)
		_, again := f.client.ResumeKind(f.ctx, names[0], names[1])
		wantInvalid(f, "an end of a pause with a wrong "+text, again)
		if err != nil && !strings.Contains(err.Error(), text) {
			f.Errorf("%v does not say %q", err, text)
		}
	}
	for _, opt := range []jobs.PauseOption{
		jobs.PauseFor(-time.Second), jobs.PauseUntil(f.store.Now().Add(-time.Second)),
		jobs.PauseReason(strings.Repeat("\u00e9", 1001)), jobs.PauseReason("a\x00b"), jobs.PauseReason("\xff"),
	} {
		_, err := f.client.PauseKind(f.ctx, "q", "k", opt)
		wantInvalid(f, "an end that has passed, or a reason that no column takes", err)
	}
	_, err := f.client.PauseKind(f.ctx, "other", "k", jobs.PauseReason(strings.Repeat("\u00e9", 1000)))
	f.must(err)
	f.closeQueue()
	_, err = f.client.PauseKind(f.ctx, "q", "k")
	f.wantMoved("a pause of a kind", err)
}

// Every statement that claims, or reports claimable jobs, respects the pause.
func testNoStatementClaimsPaused(f *fixture) {
	g := f.ghost("g", time.Hour)
	f.Cleanup(func() { f.must(g.release(true)) })
	ids := f.many(3)
	f.pauseKind()
	list, err := json.Marshal(ids)
	f.must(err)
	now := f.store.Now().UnixMicro()
	look := func(wanted int64) {
		f.Helper()
		f.write(func(ctx context.Context, q db.Querier) error {
			has, err := q.HasClaimableJobs(ctx, db.HasClaimableJobsParams{Kinds: `["k","l"]`, Queue: jobs.DefaultQueue})
			f.must(err)
			want(f, "kinds that are claimable", has, wanted)
			pending, err := q.ListPendingQueues(ctx, db.ListPendingQueuesParams{Kinds: `["k","l"]`, N: 9})
			f.must(err)
			want(f, "the queues that have pending jobs", fmt.Sprint(pending), fmt.Sprint([]db.ListPendingQueuesRow{{Queue: jobs.DefaultQueue, Claimable: wanted}}))
			queues, err := q.ListClaimableQueues(ctx, db.ListClaimableQueuesParams{Kinds: `["k","l"]`, Queues: `[["default",""]]`})
			f.must(err)
			want(f, "the queues that have claimable jobs", int64(len(queues)), wanted)
			unfinished, err := q.HasUnfinishedJobs(ctx, db.HasUnfinishedJobsParams{Queues: `["default"]`, Kinds: `["k","l"]`, Now: now})
			f.must(err)
			want(f, "kinds that have unfinished jobs", unfinished, wanted)
			free, err := q.PeekJobs(ctx, db.PeekJobsParams{Kinds: `["k","l"]`, Queue: jobs.DefaultQueue, Now: now, N: 9})
			f.must(err)
			want(f, "jobs that may be tried one by one", int64(len(free)), 3*wanted)
			return nil
		})
	}
	look(0)
	want(f, "claimed jobs", len(g.claim(9, time.Hour)), 0)
	f.write(func(ctx context.Context, q db.Querier) error {
		rows, err := q.ClaimListedJobs(ctx, db.ClaimListedJobsParams{WorkerID: g.id, LeaseUntil: now, Now: now, Ids: string(list), Queue: jobs.DefaultQueue})
		want(f, "claimed jobs of a list", len(rows), 0)
		return err
	})
	want(f, "resumed", f.resumeKind(), true)
	look(1)
	want(f, "claimed jobs", len(g.claim(9, time.Hour)), 3)
}

func testPausedKindNotHanded(f *fixture) {
	h := f.handingOf([]string{"k", "l"})
	for tried := false; !tried; { // the runner may not be idle yet
		h.hand()
		f.pauseKind()
		var receipt jobs.Receipt
		receipt, tried = h.decline()
		want(f, "status", f.get(receipt.ID).Status, jobs.StatusPending)
		for handed := false; tried && !handed; { // jobs of other kinds are handed over beside the waiting one
			var other jobs.Receipt
			var err error
			other, handed, err = h.add("l")
			f.must(err)
			want(f, "the job that runs", receive(f, "the job", h.ran).ID, other.ID)
			f.ended(other.ID)
		}
		f.resumeKind()
		want(f, "the job that runs", receive(f, "the job", h.ran).ID, receipt.ID)
	}
}

func testDrainLeavesPausedKind(f *fixture) {
	f.pauseKind()
	ids := append(f.many(3), f.enqueue("k", jobs.In(time.Millisecond)))
	other := f.enqueue("l")
	f.drain(jobs.Config{}, on("k", nothing), on("l", nothing))
	want(f, "the job of the other kind", f.get(other).Status, jobs.StatusDone)
	for _, id := range ids {
		want(f, "a job of the paused kind is final", f.get(id).Status.Final(), false)
	}
}

// A resting runner makes no statement more because paused jobs are pending, and finds other jobs behind them at once.
func testPausedKindCostsNothing(f *fixture) {
	f.pauseKind()
	f.many(20_000, jobs.Priority(9))
	client, seen := f.observed()
	f.startOn(client, jobs.Config{}, on("k", nothing), on("l", nothing))
	f.ended(f.enqueue("l"))
	before := len(seen.asked())
	const n = 20
	for i := range n {
		var options []jobs.EnqueueOption
		if i%4 == 3 {
			options = append(options, jobs.In(20*time.Millisecond))
		}
		f.ended(f.enqueue("l", options...))
	}
	f.wantFewStatements((len(seen.asked()) - before) / n)
	counts, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	want(f, "jobs that wait", counts.Jobs[jobs.StatusPending], 20_000)
}

func testPausedKindInManyQueues(f *fixture) {
	const paused = 300
	f.fillEach("k", "queue-%d", paused)
	f.must(f.inTx(func(tx Tx) error {
		for i := range paused {
			if _, err := f.client.With(tx).PauseKind(f.ctx, nameOfMany(i), "k"); err != nil {
				return err
			}
		}
		return nil
	}))
	f.wantFewStatements(f.costOfEach(manySlots(2), paused))
	want(f, "jobs that wait", f.statuses()[jobs.StatusPending], paused)
	_, err := f.elsewhere().ResumeKind(f.ctx, nameOfMany(7), "k")
	f.must(err)
	f.eventually("the job of the resumed kind has run", func() bool { return f.statuses()[jobs.StatusPending] == paused-1 })
}

// Jobs that were claimed before the pause go on; jobs that wait behind them for a slot are given back, and stay.
func testPausedKindBehindSlots(f *fixture) {
	release := make(chan struct{})
	r, slow, behind := f.stuckBehind(jobs.Config{}, release, func(jobs.Job) {})
	_, err := f.client.PauseKind(f.ctx, jobs.DefaultQueue, "behind")
	f.must(err)
	f.eventually("no job waits for a slot", func() bool {
		for _, id := range behind {
			if f.get(id).Status == jobs.StatusRunning {
				return false
			}
		}
		return true
	})
	close(release)
	want(f, "the job that ran", f.ended(slow).Status, jobs.StatusDone)
	f.must(r.stop())
	for _, id := range behind {
		want(f, "the status of a job behind it", f.get(id).Status, jobs.StatusPending)
	}
	_, err = f.client.ResumeKind(f.ctx, jobs.DefaultQueue, "behind")
	f.must(err)
	f.drain(jobs.Config{}, on("behind", nothing))
	for _, id := range behind {
		want(f, "the status of a job behind it", f.get(id).Status, jobs.StatusDone)
	}
}

func testKindPauseShown(f *fixture) {
	until := f.store.Now().Add(time.Hour).Truncate(time.Microsecond)
	_, err := f.client.PauseKind(f.as("ann"), "q", "k", jobs.PauseUntil(until))
	f.must(err)
	_, err = f.client.PauseKind(f.as("ann"), "q", "a", jobs.PauseUntil(until), jobs.PauseReason("the disk is full"))
	f.must(err)
	_, err = f.client.PauseKind(f.as("eve"), "q", "a", jobs.PauseUntil(until.Add(-time.Minute)), jobs.PauseReason("a shorter one"))
	f.must(err)
	_, err = f.client.PauseKind(f.as("bob"), "q", "a", jobs.PauseReason("it's <b>broken</b>"))
	f.must(err)
	_, err = f.client.PauseQueue(f.as("cleo"), "p")
	f.must(err)
	queues, err := inspect.New(f.client).Queues(f.ctx)
	f.must(err)
	for i := range queues {
		queues[i].PausedAt = time.Time{}
		for j, k := range queues[i].PausedKinds {
			want(f, "a pause has no beginning", k.At.IsZero(), false)
			queues[i].PausedKinds[j].At = time.Time{}
		}
	}
	if len(queues) == 2 && !queues[1].PausedKinds[1].Until.Equal(until) {
		f.Errorf("the pause ends at %s, not %s", queues[1].PausedKinds[1].Until, until)
	}
	wanted := []inspect.QueueInfo{{Name: "p", PausedBy: "cleo"}, {Name: "q", PausedKinds: []inspect.KindPause{{Kind: "a", By: "bob", Reason: "it's <b>broken</b>"}, {Kind: "k", By: "ann", Until: queues[1].PausedKinds[1].Until}}}}
	if !reflect.DeepEqual(queues, wanted) {
		f.Errorf("the queues are %+v, not %+v", queues, wanted)
	}
	if text := f.wantWhy(f.enqueue("a", jobs.Queue("q")), inspect.ReasonKindPaused, inspect.ReasonNoWorker).Findings[0].Text; !strings.HasSuffix(text, `, until it is resumed, by "bob": "it's <b>broken</b>"`) {
		f.Errorf("%q does not say why", text)
	}
	id := f.enqueue("k", jobs.Queue("q"))
	d := f.wantWhy(id, inspect.ReasonKindPaused, inspect.ReasonNoWorker)
	for _, text := range []string{`its kind "k" is paused in queue "q" since `, ", until " + until.Format("2006-01-02T15"), `, by "ann"`} {
		if !strings.Contains(d.Findings[0].Text, text) {
			f.Errorf("%q does not say %q", d.Findings[0].Text, text)
		}
	}
	f.wantWhy(f.enqueue("k", jobs.Queue("r")), inspect.ReasonNoWorker)
	_, err = f.client.ResumeKind(f.as("dan"), "q", "k")
	f.must(err)
	f.wantWhy(id, inspect.ReasonNoWorker)
	f.wantAudit(
		inspect.AuditEntry{
			Actor: "ann", Action: inspect.ActionPauseKind, Queue: "q", Kind: "k",
			Detail: json.RawMessage(fmt.Sprintf(`{"until":%q}`, until.UTC().Format(time.RFC3339Nano))),
		},
		inspect.AuditEntry{
			Actor: "ann", Action: inspect.ActionPauseKind, Queue: "q", Kind: "a",
			Detail: json.RawMessage(fmt.Sprintf(`{"until":%q,"reason":"the disk is full"}`, until.UTC().Format(time.RFC3339Nano))),
		},
		inspect.AuditEntry{
			Actor: "eve", Action: inspect.ActionPauseKind, Queue: "q", Kind: "a",
			Detail: json.RawMessage(fmt.Sprintf(`{"until":%q,"reason":"a shorter one","kept":{"until":%q,"by":"ann","reason":"the disk is full"}}`,
				until.Add(-time.Minute).UTC().Format(time.RFC3339Nano), until.UTC().Format(time.RFC3339Nano))),
		},
		inspect.AuditEntry{
			Actor: "bob", Action: inspect.ActionPauseKind, Queue: "q", Kind: "a",
			Detail: json.RawMessage(fmt.Sprintf(`{"reason":"it's \u003cb\u003ebroken\u003c/b\u003e","replaced":{"until":%q,"by":"ann","reason":"the disk is full"}}`,
				until.UTC().Format(time.RFC3339Nano))),
		},
		inspect.AuditEntry{Actor: "cleo", Action: inspect.ActionPause, Queue: "p"},
		inspect.AuditEntry{
			Actor: "dan", Action: inspect.ActionResumeKind, Queue: "q", Kind: "k",
			Detail: json.RawMessage(fmt.Sprintf(`{"ended":{"until":%q,"by":"ann"}}`, until.UTC().Format(time.RFC3339Nano))),
		},
	)
}

// A pause in the place of one that is over begins anew.
func testKindPauseAfterOne(f *fixture) {
	f.sql("insert_ended_kind_pause")
	before := f.store.Now()
	changed, err := f.client.PauseKind(f.as("ann"), jobs.DefaultQueue, "other", jobs.PauseFor(time.Hour))
	f.must(err)
	want(f, "whether it changed something", changed, true)
	queues, err := inspect.New(f.client).Queues(f.ctx)
	f.must(err)
	if at := queues[0].PausedKinds[0].At; at.Before(before.Truncate(time.Millisecond)) {
		f.Errorf("the pause began at %s", at)
	}
	for _, e := range f.audit(inspect.AuditFilter{}) {
		want(f, "whether the entry has a pause that was replaced", strings.Contains(string(e.Detail), "replaced"), false)
	}
}

func testKindPauseByPlainSQL(f *fixture) {
	f.sql("insert_kind_pause")
	f.start(jobs.Config{}, on("k", nothing), on("l", nothing))
	id := f.enqueue("k")
	f.ended(f.enqueue("l"))
	f.wantWhy(id, inspect.ReasonKindPaused)
	f.sql("delete_kind_pause")
	f.enqueue("k") // the worker looks again: no notification tells it of the DELETE on PostgreSQL
	want(f, "status", f.ended(id).Status, jobs.StatusDone)
}

func testKindPauseInTransaction(f *fixture) {
	tx, err := f.store.Begin(f.ctx)
	f.must(err)
	changed, err := f.client.With(tx).PauseKind(f.ctx, jobs.DefaultQueue, "k")
	f.must(err)
	want(f, "paused", changed, true)
	f.must(tx.Rollback())
	want(f, "paused after it was undone", f.pauseKind(), true)
	id := f.enqueue("k")
	f.start(jobs.Config{}, on("k", nothing))
	f.must(f.inTx(func(tx Tx) error {
		_, err := f.client.With(tx).ResumeKind(f.ctx, jobs.DefaultQueue, "k")
		return err
	}))
	want(f, "status", f.ended(id).Status, jobs.StatusDone)
}
