package conformance

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

var fenceTests = []test{
	{"DoneIsRefused", func(f *fixture) { testFence(f, "", nil) }},
	{"ResultIsRefused", func(f *fixture) { testFence(f, "result", nil) }},
	{"RetryIsRefused", func(f *fixture) { testFence(f, "", errors.New("failed")) }},
	{"SnoozeIsRefused", func(f *fixture) { testFence(f, "", jobs.Snooze(time.Hour)) }},
	{"DiscardIsRefused", func(f *fixture) { testFence(f, "", jobs.Discard(nil)) }},
	{"CancelIsRefused", func(f *fixture) { testFence(f, "", jobs.Cancel(nil)) }},
	{"CauseOfTheHandlersContext", testLostCause},
	{"ProgressIsRefused", testProgressFenced},
	{"HolderStatementsAreFenced", testHeldFenced},
	{"OldAttemptOfTheSameWorker", testOldAttempt},
	{"EndedJobsStayEnded", testEndedStay},
	{"DeadWorkerClaimsNothing", testDeadClaimsNothing},
}

// testFence runs a handler whose job is taken over by another worker: whatever it returns is refused.
func testFence(f *fixture, result string, end error) {
	id := f.enqueue("k")
	var attempt int64
	var taker *ghost
	f.takeDuring(func(_ context.Context, job jobs.Job) error {
		attempt, taker = f.takeOver(job)
		if result != "" {
			if err := job.SetResult(result); err != nil {
				return err
			}
		}
		return end
	})
	job := f.get(id)
	want(f, "status", job.Status, jobs.StatusRunning)
	want(f, "holder", job.WorkerID, taker.id)
	want(f, "attempt", int64(job.Attempt), attempt)
	want(f, "errors", len(f.errors(id)), 0)
	want(f, "rows that the new holder completes", taker.complete(id, attempt), 1)
	want(f, "result", string(f.get(id).Result), `"by the ghost"`)
}

// takeDuring runs a handler once and stops the runner after it has handled the outcome.
func (f *fixture) takeDuring(handler func(ctx context.Context, job jobs.Job) error) {
	f.Helper()
	returned := make(chan struct{})
	r := f.start(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		defer close(returned)
		return handler(ctx, job)
	}))
	receive(f, "the handler's return", returned)
	f.must(r.stop())
}

// testOldAttempt: the handler of an attempt is still running when its own worker claims the job again.
func testOldAttempt(f *fixture) {
	id := f.enqueue("k")
	var same *ghost
	f.takeDuring(func(_ context.Context, job jobs.Job) error {
		same = &ghost{f: f, id: job.WorkerID}
		var rows []db.ClaimJobsRow
		f.write(func(ctx context.Context, q db.Querier) (err error) { // in one transaction, so that the runner does not come first
			if err := f.reset(ctx, q, job); err != nil {
				return err
			}
			rows, err = same.claimWith(ctx, q, 1, time.Hour)
			return err
		})
		want(f, "attempt of the new claim", rows[0].Attempt, 2)
		return nil
	})
	job := f.get(id)
	want(f, "status", job.Status, jobs.StatusRunning)
	want(f, "attempt", job.Attempt, 2)
	want(f, "rows that the new attempt completes", same.complete(id, 2), 1)
}

func testLostCause(f *fixture) {
	id := f.enqueue("k")
	causes := make(chan error, 1)
	f.start(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		f.takeOver(job)
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return ctx.Err()
	}))
	if cause := receive(f, "the end of the handler's context", causes); !errors.Is(cause, jobs.ErrLeaseLost) {
		f.Errorf("the cause is %v", cause)
	}
	want(f, "status", f.get(id).Status, jobs.StatusRunning)
}

func testProgressFenced(f *fixture) {
	id := f.enqueue("k")
	f.takeDuring(func(_ context.Context, job jobs.Job) error {
		f.takeOver(job)
		if err := job.SetProgress(f.ctx, 50); !errors.Is(err, jobs.ErrLeaseLost) {
			f.Errorf("SetProgress gives %v", err)
		}
		return nil
	})
	want(f, "progress", string(f.get(id).Progress), "")
}

// testHeldFenced tries every statement of a holder with the worker or the attempt of an earlier claim.
func testHeldFenced(f *fixture) {
	id := f.many(1)[0]
	old, next := f.ghost("old", time.Hour), f.ghost("next", time.Hour)
	first := old.claim(1, time.Minute)[0]
	f.write(func(ctx context.Context, q db.Querier) error {
		_, err := q.ReturnJob(ctx, db.ReturnJobParams{Status: "pending", Uncounted: 1, Now: f.store.Now().UnixMicro(), ID: id, Attempt: first.Attempt, WorkerID: old.id})
		return err
	})
	second := next.claim(1, time.Minute)[0]
	before := f.get(id)
	for _, wrong := range []struct {
		what            string
		worker, attempt int64
	}{
		{"the old worker and attempt", old.id, first.Attempt}, {"the old worker", old.id, second.Attempt},
		{"the old attempt", next.id, first.Attempt},
	} {
		for name, try := range holderStatements(wrong.worker, id, wrong.attempt, f.store.Now().Add(time.Hour).UnixMicro()) {
			f.write(func(ctx context.Context, q db.Querier) error {
				n, err := try(ctx, q)
				want(f, "rows that "+name+" changes by "+wrong.what, n, 0)
				return err
			})
		}
	}
	after := f.get(id)
	want(f, "status", after.Status, before.Status)
	want(f, "lease", after.LeaseUntil, before.LeaseUntil)
	want(f, "time of the last change", after.UpdatedAt, before.UpdatedAt)
	f.must(errors.Join(old.release(true), next.release(true)))
}

// testEndedStay tries every statement that changes a held job, and those of people, on ended jobs: the status guard
// keeps them unchanged.
func testEndedStay(f *fixture) {
	g := f.ghost("g", time.Hour)
	defer func() { f.must(g.release(true)) }()
	id := f.many(1)[0]
	row := g.claim(1, time.Hour)[0]
	want(f, "rows of the first completion", g.complete(id, row.Attempt), 1)
	before := f.get(id)
	now := f.store.Now().Add(time.Hour).UnixMicro()
	tries := holderStatements(g.id, id, row.Attempt, now)
	maps.Copy(tries, peoplesStatements(id, now))
	for name, try := range tries {
		f.write(func(ctx context.Context, q db.Querier) error {
			n, err := try(ctx, q)
			want(f, "rows that "+name+" changes of a done job", n, 0)
			return err
		})
	}
	after := f.get(id)
	want(f, "status", after.Status, before.Status)
	want(f, "result", string(after.Result), string(before.Result))
	want(f, "time of the last change", after.UpdatedAt, before.UpdatedAt)
}

func testDeadClaimsNothing(f *fixture) {
	f.many(1)
	g := f.ghost("g", time.Hour)
	f.write(func(ctx context.Context, q db.Querier) error {
		_, err := q.EndWorker(ctx, db.EndWorkerParams{Now: f.store.Now().UnixMicro(), EndReason: "lost", ID: g.id})
		return err
	})
	want(f, "jobs that a worker declared dead claims", len(g.claim(1, time.Hour)), 0)
	f.must(g.release(true))
}
