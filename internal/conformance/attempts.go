package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var attemptsTests = []test{
	{"EachHasARow", testEachAttemptHasARow},
	{"CancelledAndRetried", testCancelledAttemptStays},
	{"GivenBack", testAttemptsGivenBack},
	{"HeldByAStoppedWorker", testAttemptsOfAStoppedWorker},
	{"OldOnesGo", testOldAttemptsGo},
}

// attempts returns the attempts of a job that have ended otherwise than well, as "number cause message", and checks that each has its
// worker and its times.
func (f *fixture) attempts(id int64, begun bool) (list []string) {
	f.Helper()
	ends, err := inspect.New(f.client).Attempts(f.ctx, id)
	f.must(err)
	for _, e := range ends {
		list = append(list, fmt.Sprint(e.Attempt, " ", e.Cause, " ", e.Message))
		if e.Worker == "" || e.Host == "" || e.EndedAt.IsZero() || e.StartedAt.IsZero() == begun || e.StartedAt.After(e.EndedAt) {
			f.Errorf("the row of an attempt is %+v", e)
		}
	}
	return list
}

func testEachAttemptHasARow(f *fixture) {
	id := f.enqueue("k")
	f.drain(jobs.Config{}, onKind(again("k"), func(_ context.Context, j jobs.Job) error {
		switch j.Attempt {
		case 1, 3:
			return jobs.Snooze(0)
		case 2:
			return errors.New("it is bad")
		case 4:
			return jobs.Cancel(errors.New("not needed"))
		}
		return nil
	}))
	want(f, "attempts", fmt.Sprint(f.attempts(id, true)), "[1 snoozed  2 error it is bad 3 snoozed  4 cancelled not needed]")
	failed := f.errors(id)
	want(f, "errors", len(failed), 1)
	want(f, "attempt of the error", failed[0].Attempt, 2)
}

// The row of a job has its last attempt only: what a retry overwrites is recorded before.
func testCancelledAttemptStays(f *fixture) {
	id := f.enqueue("k")
	running := make(chan struct{})
	r := f.start(jobs.Config{}, on("k", func(ctx context.Context, j jobs.Job) error {
		if j.Attempt == 1 {
			close(running)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}))
	<-running
	_, err := f.client.Cancel(f.ctx, id)
	f.must(err)
	want(f, "status", f.ended(id).Status, jobs.StatusCancelled)
	f.must(f.client.Retry(f.ctx, id))
	want(f, "status after a retry", f.ended(id).Status, jobs.StatusDone)
	f.must(r.stop())
	want(f, "attempts", fmt.Sprint(f.attempts(id, true)), "[1 cancelled context canceled]")
}

// Attempts that a worker gives back without having begun have rows without a start; one whose cancellation was requested ends as cancelled.
func testAttemptsGivenBack(f *fixture) {
	ids := f.many(3)
	g := f.ghost("full", time.Hour)
	claimed := g.claim(3, time.Hour)
	want(f, "claimed", len(claimed), 3)
	_, err := f.client.Cancel(f.ctx, ids[1])
	f.must(err)
	var ends []*lifecycle.End
	for _, j := range claimed {
		ends = append(ends, &lifecycle.End{Fate: lifecycle.FateReturn, Job: &jobs.Job{
			ID: j.ID, Kind: "k", Queue: jobs.DefaultQueue, Attempt: int(j.Attempt), WorkerID: g.id, StartedAt: f.store.Now(),
		}})
	}
	f.write(func(ctx context.Context, q db.Querier) error {
		left := lifecycle.NewLeft()
		if _, err := lifecycle.Finish(ctx, f.store, q, f.store.Now(), ends, left); err != nil {
			return err
		}
		return left.Conclude(ctx, q, core.Micros(f.store.Now()))
	})
	want(f, "attempts of the first", fmt.Sprint(f.attempts(ids[0], false)), "[1 released ]")
	want(f, "attempts of the cancelled one", fmt.Sprint(f.attempts(ids[1], false)), "[1 cancelled ]")
	want(f, "attempts of the last", fmt.Sprint(f.attempts(ids[2], false)), "[1 released ]")
	want(f, "errors", len(f.errors(ids[0])), 0)
}

// What a worker holds that stopped in good order, and could not say so of each job, is recorded by those that give it back.
func testAttemptsOfAStoppedWorker(f *fixture) {
	ids := f.many(2)
	g := f.ghost("frozen", time.Hour)
	want(f, "claimed", len(g.claim(2, time.Hour)), 2)
	f.write(func(ctx context.Context, q db.Querier) error {
		n, err := lifecycle.ReleaseHeld(ctx, q, core.Micros(f.store.Now()), g.id)
		want(f, "released", n, 2)
		return err
	})
	for _, id := range ids {
		want(f, "status", f.get(id).Status, jobs.StatusPending)
		want(f, "attempts", fmt.Sprint(f.attempts(id, true)), "[1 released ]")
	}
}

// Of a job that is snoozed again and again the latest attempts stay, and all that failed.
func testOldAttemptsGo(f *fixture) {
	id := f.enqueue("k", jobs.MaxAttempts(1000))
	const runs = 3*inspect.KeptAttempts + 7
	f.drain(jobs.Config{}, onKind(again("k"), func(_ context.Context, j jobs.Job) error {
		switch {
		case j.Attempt == runs:
			return nil
		case j.Attempt%10 == 0:
			return errors.New("it is bad")
		}
		return jobs.Snooze(0)
	}))
	ends, err := inspect.New(f.client).Attempts(f.ctx, id)
	f.must(err)
	failed, others := inspect.ByOutcome(ends)
	want(f, "failed attempts", len(failed), runs/10)
	want(f, "the first that failed", failed[0].Attempt, 10)
	want(f, "the first of the others", others[0].Attempt, runs-inspect.KeptAttempts)
	want(f, "others", len(others), 9*inspect.KeptAttempts/10)
}
