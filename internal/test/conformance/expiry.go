package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var expiryTests = []test{
	{"Times", testStartByTimes},
	{"Update", testExpiryOfUpdated},
	{"WithoutAWorkerOfItsOwn", testExpiry},
	{"BeforeADrain", testExpiryBeforeDrain},
	{"ClaimedTooLate", testClaimedTooLate},
	{"StartedInTime", testStartedInTime},
	{"GivenBackUnstarted", testExpiryOfGivenBack},
	{"Retry", testRetryOfExpired},
	{"Many", testExpiryOfMany},
	{"OfAClaimAndTheTimeOneWins", testExpiryOfClaimed},
	{"QueueIsMoved", testExpiryMoved},
	{"Plain", testPlainExpiry},
	{"Schedule", testStartWithinOfTick},
}

// lateClock is a store whose clock is set ahead by late.
type lateClock struct {
	engine.Store
	late *atomic.Int64 // nanoseconds
	next int64         // the value of late from the next claim on
}

func (c *lateClock) Now() time.Time { return c.Store.Now().Add(time.Duration(c.late.Load())) }

func (c *lateClock) NowWithin(context.Context) time.Time { return c.Now() }

func (c *lateClock) Exchange(ctx context.Context, p engine.Plan) (engine.Outcome, error) {
	out, err := c.Store.Exchange(ctx, p)
	if slices.ContainsFunc(out.Claimed, func(rows []db.ClaimJobsRow) bool { return len(rows) > 0 }) && c.next != 0 {
		c.late.Store(c.next)
	}
	return out, err
}

// late returns a client by a clock that is set ahead by a time, or, when atClaim is set, from its next claim on. The observer
// records its events.
func (f *fixture) late(by time.Duration, atClaim bool) (*jobs.Client, *lateClock, *seen) {
	f.Helper()
	client, seen := f.observed()
	c := &lateClock{Store: engine.StoreOf(client.Store()), late: &atomic.Int64{}}
	if atClaim {
		c.next = int64(by)
	} else {
		c.late.Store(int64(by))
	}
	return jobs.New(engine.SealStore(c)), c, seen
}

// expire ends the jobs that were not started in time, by a clock that is set ahead.
func (f *fixture) expire(by time.Duration) (ended int, seen *seen, err error) {
	f.Helper()
	_, clock, seen := f.late(by, false)
	expiry := maintenance.Expirer{Store: clock, Notes: &refusal.Notes{Log: quiet()}}
	ended, err = expiry.Once(f.ctx)
	seen.told()
	return ended, seen, err
}

// wantExpired checks that a job ended because it was not started in time, in its nth attempt or before any.
func (f *fixture) wantExpired(id int64, attempt int) {
	f.Helper()
	job := f.get(id)
	message := lifecycle.NotStartedBy(job.StartBy)
	failures := f.errors(id)
	if len(failures) != 1 || failures[0].Cause != jobs.CauseExpired || failures[0].Message != message || failures[0].Attempt != attempt {
		f.Errorf("the errors of job %d are %+v", id, failures)
	}
	want(f, "the job's last error", job.LastError, message)
	want(f, "the job's attempt", job.Attempt, attempt)
	want(f, "the job's status", job.Status, jobs.StatusCancelled)
	if job.FinishedAt.IsZero() {
		f.Errorf("the end of job %d is not set", id)
	}
	why := f.wantWhy(id, inspect.ReasonEnded, inspect.ReasonExpired)
	if text := why.Findings[1].Text; !strings.Contains(text, "had to start by "+job.StartBy.Format(time.RFC3339)) {
		f.Errorf("why it does not run: %s", text)
	}
}

func testStartByTimes(f *fixture) {
	now := f.store.Now()
	for _, opts := range [][]jobs.EnqueueOption{
		{jobs.StartBy(now.Add(-time.Second))},
		{jobs.StartBy(time.Unix(0, 0))},
		{jobs.StartBy(core.Latest.Add(time.Microsecond))},
		{jobs.In(time.Hour), jobs.StartBy(now.Add(time.Minute))},
		{jobs.At(now.Add(time.Hour)), jobs.StartBy(now.Add(time.Hour))},
		{jobs.StartWithin(-time.Second)},
		{jobs.StartWithin(time.Nanosecond)},
		{jobs.At(core.Latest), jobs.StartWithin(time.Second)},
	} {
		_, err := f.client.Enqueue(f.ctx, "k", json.RawMessage("{}"), opts...)
		wantInvalid(f, "a time", err)
	}
	far := now.Add(time.Hour).Add(1234 * time.Nanosecond)
	for _, c := range []struct {
		opts []jobs.EnqueueOption
		by   time.Time
	}{
		{[]jobs.EnqueueOption{jobs.StartBy(time.Time{}), jobs.StartWithin(0)}, time.Time{}},
		{[]jobs.EnqueueOption{jobs.StartBy(far), jobs.StartBy(time.Time{})}, time.Time{}},
		{[]jobs.EnqueueOption{jobs.StartWithin(time.Second), jobs.StartBy(far)}, far.Truncate(time.Microsecond)},
		{[]jobs.EnqueueOption{jobs.StartBy(core.Latest)}, core.Latest},
	} {
		if job := f.get(f.enqueue("k", c.opts...)); !job.StartBy.Equal(c.by) {
			f.Errorf("the job must start by %s, not %s", job.StartBy, c.by)
		}
	}
	job := f.get(f.enqueue("k", jobs.In(time.Hour), jobs.StartBy(now), jobs.StartWithin(time.Minute)))
	want(f, "how long after its time the job must start", job.StartBy.Sub(job.RunAfter), time.Minute)
	why := f.wantWhy(job.ID, inspect.ReasonNotDue, inspect.ReasonNoWorker, inspect.ReasonStartBy)
	if text := why.Findings[2].Text; text != "it ends as cancelled if it has not started by "+job.StartBy.Format(time.RFC3339) {
		f.Errorf("why it does not run: %s", text)
	}
}

// A job with another run-after time keeps the time by which it must start, and a time at which it is too late is refused.
func testExpiryOfUpdated(f *fixture) {
	id := f.enqueue("k", jobs.StartWithin(time.Minute))
	wantInvalid(f, "a time at which it is too late", f.client.Update(f.ctx, id, jobs.SetRunAfter(f.store.Now().Add(time.Hour))))
	f.must(f.client.Update(f.ctx, id, jobs.SetRunAfter(f.store.Now().Add(30*time.Second))))
	if ended, _, err := f.expire(2 * time.Minute); ended != 1 || err != nil {
		f.Errorf("%d jobs expired, %v", ended, err)
	}
	f.wantExpired(id, 0)
}

// Any worker ends a job in time: one whose queue is paused, whose kind no worker takes, or that is not due. Wait returns then.
func testExpiry(f *fixture) {
	_, err := f.client.PauseQueue(f.ctx, "paused")
	f.must(err)
	stays := []int64{f.enqueue("other"), f.enqueue("other", jobs.StartWithin(time.Hour)), f.enqueue("k", jobs.Queue("paused"))}
	client, seen := f.observed()
	r := f.startOn(client, jobs.Config{Queues: map[string]int{"elsewhere": 1}}, on("k", nothing))
	soon := jobs.StartWithin(50 * time.Millisecond)
	expires := []int64{
		f.enqueue("k", jobs.Queue("paused"), soon), f.enqueue("other", soon), f.enqueue("other", soon, jobs.Unique("key")),
		f.insert("run_after, start_by", fmt.Sprintf("%d, %d", f.store.Now().Add(time.Hour).UnixMicro(), f.store.Now().UnixMicro())),
	}
	for _, id := range expires {
		done, err := f.client.Wait(f.ctx, id)
		f.must(err)
		want(f, "status that Wait returns", done.Status, jobs.StatusCancelled)
		f.wantExpired(id, 0)
	}
	for _, id := range stays {
		want(f, "status of a job that may still start", f.get(id).Status, jobs.StatusPending)
	}
	f.enqueue("other", jobs.Unique("key")) // is free again
	f.must(r.stop())
	seen.told()
	told := map[string]int{}
	for _, e := range seen.expired {
		told[e.Queue+" "+e.Kind] += e.Jobs
	}
	if fmt.Sprint(told) != "map[default k:1 default other:2 paused k:1]" {
		f.Errorf("the observer was told of %v", told)
	}
	want(f, "attempts that were told of", len(seen.started)+len(seen.finished), 0)
}

// A drain ends overdue jobs when it begins, and waits for no other.
func testExpiryBeforeDrain(f *fixture) {
	_, err := f.client.PauseQueue(f.ctx, "paused")
	f.must(err)
	later := f.enqueue("k", jobs.Queue("paused"), jobs.StartWithin(time.Hour))
	overdue := f.insert("queue, start_by", "'paused', 100000000000000")
	f.drain(jobs.Config{}, on("k", nothing))
	f.wantExpired(overdue, 0)
	want(f, "status of a job that may still start", f.get(later).Status, jobs.StatusPending)
}

// The handler of a job that was claimed too late is not called.
func testClaimedTooLate(f *fixture) {
	late := f.enqueue("k", jobs.StartWithin(10*time.Second))
	client, clock, seen := f.late(20*time.Second, true)
	f.must(f.runner(client, jobs.Config{Lease: time.Hour}, on("k", func(context.Context, jobs.Job) error {
		f.Error("the handler was called")
		return nil
	})).Drain(f.ctx))
	f.wantExpired(late, 1)
	if failure := f.errors(late)[0]; failure.Worker == "" || failure.StartedAt.IsZero() {
		f.Errorf("the error has no attempt: %+v", failure)
	}
	seen.told()
	if len(seen.finished) != 1 || seen.finished[0].Fate != jobs.FateCancelled || seen.finished[0].Cause != jobs.CauseExpired || len(seen.expired) > 0 {
		f.Errorf("the observer was told of %+v and %v", seen.finished, seen.expired)
	}
	clock.late.Store(0)
}

// A job that was started in time is bound no longer: neither is a later attempt.
func testStartedInTime(f *fixture) {
	id := f.enqueue("k", jobs.StartWithin(10*time.Second))
	client, clock, _ := f.late(0, true)
	attempts := 0
	f.must(f.runner(client, jobs.Config{Lease: time.Hour}, on("k", func(context.Context, jobs.Job) error {
		clock.late.Store(int64(20 * time.Second))
		if attempts++; attempts == 1 {
			return jobs.RetryIn(0, nil)
		}
		return nil
	})).Drain(f.ctx))
	want(f, "attempts", attempts, 2)
	want(f, "status", f.get(id).Status, jobs.StatusDone)

	snoozed := f.one(func(context.Context, jobs.Job) error { return jobs.Snooze(time.Hour) }, jobs.StartWithin(time.Minute))
	ended, _, err := f.expire(2 * time.Minute)
	f.must(err)
	want(f, "jobs that expired", ended, 0)
	want(f, "status of the snoozed job", f.get(snoozed.ID).Status, jobs.StatusScheduled)
	f.wantWhy(snoozed.ID, inspect.ReasonNotDue, inspect.ReasonNoWorker)
}

// A job that was claimed and given back before its handler was called has not started, and its end releases a successor. One whose attempt
// was lost in a crash has.
func testExpiryOfGivenBack(f *fixture) {
	id := f.enqueue("k", jobs.StartWithin(time.Minute), jobs.UniqueAgain("u"))
	g := f.ghost("g", time.Hour)
	row := g.claim(1, time.Hour)[0]
	next := f.enqueue("k", jobs.UniqueAgain("u"))
	g.giveBack(row)
	f.wantWhy(id, inspect.ReasonSoon, inspect.ReasonStartBy)
	ended, _, err := f.expire(2 * time.Minute)
	f.must(err)
	want(f, "jobs that expired", ended, 1)
	want(f, "that a successor still waits", f.get(next).Successor, false)
	f.must(f.client.Delete(f.ctx, next))
	f.wantExpired(id, 1)

	crashed := f.enqueue("k", jobs.StartWithin(time.Minute))
	want(f, "jobs that are claimed", len(g.claim(1, time.Hour)), 1)
	g.die()
	f.drain(jobs.Config{}, on("other", nothing))
	want(f, "status after the crash", f.get(crashed).Status, jobs.StatusPending)
	ended, _, err = f.expire(2 * time.Minute)
	f.must(err)
	want(f, "jobs that expired after a crash", ended, 0)
}

func testRetryOfExpired(f *fixture) {
	id, waiting := f.enqueue("k", jobs.StartWithin(time.Minute)), f.enqueue("k", jobs.In(time.Hour), jobs.StartWithin(time.Minute))
	_, _, err := f.expire(2 * time.Minute)
	f.must(err)
	f.wantExpired(id, 0)
	f.must(f.client.Retry(f.ctx, id))
	f.must(f.client.Retry(f.ctx, waiting))
	want(f, "that the retried job has no such time", f.get(id).StartBy.IsZero(), true)
	want(f, "that the job whose time is to come has one", f.get(waiting).StartBy.IsZero(), false)
	ended, _, err := f.expire(30 * time.Minute)
	f.must(err)
	want(f, "jobs that expired", ended, 0)
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
	want(f, "status of the other job", f.get(waiting).Status, jobs.StatusDone)
}

func testExpiryOfMany(f *fixture) {
	const n = 1201
	ids := f.many(n, jobs.StartWithin(time.Minute))
	stays := f.many(3)
	ended, seen, err := f.expire(2 * time.Minute)
	f.must(err)
	want(f, "jobs that expired", ended, n)
	told := 0
	for _, e := range seen.expired {
		told += e.Jobs
	}
	want(f, "jobs that the observer was told of", told, n)
	counts, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	want(f, "cancelled jobs", counts.Jobs[jobs.StatusCancelled], n)
	for _, id := range []int64{slices.Min(ids), slices.Max(ids)} {
		f.wantExpired(id, 0)
	}
	want(f, "status of another job", f.get(stays[0]).Status, jobs.StatusPending)
}

// A job that a worker has claimed is left alone, though it was listed before.
func testExpiryOfClaimed(f *fixture) {
	id, other := f.enqueue("k", jobs.StartWithin(time.Minute)), f.enqueue("k", jobs.StartWithin(time.Minute), jobs.Priority(-1))
	want(f, "jobs that are claimed", len(f.ghost("g", time.Hour).claim(1, time.Hour)), 1)
	var ended []db.ExpireJobsRow
	f.write(func(ctx context.Context, q db.Querier) (err error) {
		made := lifecycle.NewTransitions()
		now := core.Micros(f.store.Now().Add(2 * time.Minute))
		if ended, err = lifecycle.Expire(ctx, q, now, []int64{id, other, other + 1}, made); err != nil {
			return err
		}
		return made.Conclude(ctx, q, now)
	})
	if len(ended) != 1 || ended[0].ID != other {
		f.Errorf("%v were ended, not %d alone", ended, other)
	}
	want(f, "status of the claimed job", f.get(id).Status, jobs.StatusRunning)
	want(f, "errors of the claimed job", len(f.errors(id)), 0)
}

func testExpiryMoved(f *fixture) {
	id := f.enqueue("k", jobs.StartWithin(time.Minute))
	f.closeQueue()
	ended, _, err := f.expire(2 * time.Minute)
	f.wantMoved("an expiry", err)
	want(f, "jobs that expired", ended, 0)
	want(f, "status", f.get(id).Status, jobs.StatusPending)
}

// A plain INSERT may have a time that has passed: the job does not run.
func testPlainExpiry(f *fixture) {
	f.start(jobs.Config{}, on("k", func(context.Context, jobs.Job) error {
		f.Error("the handler was called")
		return nil
	}))
	id := f.insert("start_by", "100000000000000")
	f.ended(id)
	f.wantExpired(id, f.get(id).Attempt)
}

// A schedule's jobs must start within a time after their ticks.
func testStartWithinOfTick(f *fixture) {
	wantInvalid(f, "a time for all jobs of a schedule", f.client.PutSchedule(f.ctx,
		jobs.NewSchedule("never", "@daily", "k", json.RawMessage("{}"), jobs.StartBy(f.store.Now().Add(time.Hour)))))
	t := f.ticking(jobs.StartWithin(90 * time.Second))
	info, err := f.client.GetSchedule(f.ctx, "s")
	f.must(err)
	want(f, "the schedule's options", strings.ReplaceAll(string(info.Options), " ", ""), `{"start_within":90000000}`)
	fired := t.at(time.Minute)
	want(f, "jobs of the tick", len(fired.Jobs), 1)
	info, err = f.client.GetSchedule(f.ctx, "s")
	f.must(err)
	job := f.get(info.LastJob)
	want(f, "how long after its tick the job must start", job.StartBy.Sub(job.Tick()), 90*time.Second)
	_, _, err = f.expire(0) // the tick was an hour ago
	f.must(err)
	f.wantExpired(job.ID, 0)
}

// A job that the application does not let end keeps no other from it.
func testRefusedExpiry(f *fixture, rules func(*fixture, string)) {
	ids := f.addRuled(200)
	f.sql("bound_many")
	expiry := maintenance.Expirer{Store: f.store, Notes: &refusal.Notes{Log: quiet()}}
	ended, err := expiry.Once(f.ctx)
	f.must(err)
	var kept []int64
	for _, id := range ids {
		if id%50 == 7 {
			kept = append(kept, id)
			f.wantWhy(id, inspect.ReasonRefused, inspect.ReasonNoWorker, inspect.ReasonStartBy)
		} else {
			want(f, "status", f.get(id).Status, jobs.StatusCancelled)
		}
	}
	want(f, "jobs that expired", ended, len(ids)-len(kept))
	counts, err := inspect.New(f.client).Refusals(f.ctx)
	f.must(err)
	want(f, "jobs that are set aside", counts["expire"], int64(len(kept)))
	rules(f, "application_rules_gone")
	f.eventually("they are tried again", func() bool {
		n, err := expiry.Once(f.ctx)
		f.must(err)
		ended += n
		return ended == len(ids)
	})
}
