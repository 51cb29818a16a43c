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
	{"NotNoticedByTheRelease", testAttemptsClaimedDuringARelease},
	{"Expired", testAttemptOfAnExpiredJob},
	{"OldOnesGo", testOldAttemptsGo},
	{"OldOnesOfStoppedWorkersGo", testOldReleasedAttemptsGo},
	{"Pages", testPagesOfAttempts},
}

// attempts returns the attempts of a job that have ended otherwise than well, as "number cause message", and checks that each has its
// worker and its times.
func (f *fixture) attempts(id int64, started bool) (list []string) {
	f.Helper()
	page, err := inspect.New(f.client).Attempts(f.ctx, id, 0, 0)
	f.must(err)
	for _, e := range page.Ends() {
		list = append(list, fmt.Sprint(e.Attempt, " ", e.Cause, " ", e.Message))
		if e.Worker == "" || e.Host == "" || e.EndedAt.IsZero() || e.StartedAt.IsZero() == started || e.StartedAt.After(e.EndedAt) {
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

// The row of a job has its last attempt only: the attempt that a retry overwrites is recorded before.
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

// Attempts that a worker gives back before they start have rows without a start; one whose cancellation was requested ends as cancelled.
func testAttemptsGivenBack(f *fixture) {
	ids := f.many(3)
	g := f.ghost("full", time.Hour)
	claimed := g.claim(3, time.Hour)
	want(f, "claimed", len(claimed), 3)
	_, err := f.client.Cancel(f.ctx, ids[1])
	f.must(err)
	g.giveBack(claimed...)
	want(f, "attempts of the first", fmt.Sprint(f.attempts(ids[0], false)), "[1 released ]")
	want(f, "attempts of the cancelled one", fmt.Sprint(f.attempts(ids[1], false)), "[1 cancelled ]")
	want(f, "attempts of the last", fmt.Sprint(f.attempts(ids[2], false)), "[1 released ]")
	want(f, "errors", len(f.errors(ids[0])), 0)
}

// A worker that stops in good order may be unable to record the ends of its jobs: another one records them, and releases the jobs.
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

// A job that such a worker claimed while others noted its jobs is left to the rescue: its attempt has no row yet.
func testAttemptsClaimedDuringARelease(f *fixture) {
	id := f.enqueue("k")
	g := f.ghost("frozen", time.Hour)
	want(f, "claimed", len(g.claim(1, time.Hour)), 1)
	f.write(func(ctx context.Context, q db.Querier) error {
		n, err := q.ReleaseHeldJobs(ctx, db.ReleaseHeldJobsParams{Now: core.Micros(f.store.Now()), WorkerID: g.id})
		want(f, "released", n, 0)
		return err
	})
	want(f, "status", f.get(id).Status, jobs.StatusRunning)
}

// The end of a job that expired after it was given back is an error beside the attempt.
func testAttemptOfAnExpiredJob(f *fixture) {
	id := f.enqueue("k", jobs.StartWithin(time.Minute))
	g := f.ghost("full", time.Hour)
	g.giveBack(g.claim(1, time.Hour)...)
	_, _, err := f.expire(2 * time.Minute)
	f.must(err)
	page, err := inspect.New(f.client).Attempts(f.ctx, id, 0, 0)
	f.must(err)
	want(f, "failed", len(page.Failed), 1)
	want(f, "others", len(page.Others), 1)
	want(f, "without a row", len(page.Unrecorded), 0)
	want(f, "the first of both", page.Ends()[0].Cause, jobs.CauseReleased)
}

// Of a job that is snoozed again and again the latest attempts stay, and all that failed.
func testOldAttemptsGo(f *fixture) {
	id := f.enqueue("k", jobs.MaxAttempts(1000))
	const runs = 3*inspect.KeptAttempts + 7
	f.drain(jobs.Config{}, onKind(again("k"), func(_ context.Context, j jobs.Job) error {
		switch {
		case j.Attempt == runs:
			return nil
		case j.Attempt%3 == 0:
			return errors.New("it is bad")
		}
		return jobs.Snooze(0)
	}))
	page, err := inspect.New(f.client).Attempts(f.ctx, id, 0, inspect.MaxPage)
	f.must(err)
	want(f, "failed attempts", len(page.Failed), runs/3)
	want(f, "the first that failed", page.Failed[0].Attempt, 3)
	if first := page.Others[0].Attempt; first > runs-inspect.KeptAttempts || first < runs-inspect.KeptAttempts-10 {
		f.Errorf("the first of the others is attempt %d", first)
	}
}

func testOldReleasedAttemptsGo(f *fixture) {
	id := f.enqueue("k")
	g := f.ghost("frozen", time.Hour)
	for range inspect.KeptAttempts + 20 {
		want(f, "claimed", len(g.claim(1, time.Hour)), 1)
		f.write(func(ctx context.Context, q db.Querier) error {
			_, err := lifecycle.ReleaseHeld(ctx, q, core.Micros(f.store.Now()), g.id)
			return err
		})
	}
	want(f, "rows", len(f.attempts(id, true)), inspect.KeptAttempts)
}

// Each attempt is on one page, with its row or as one without.
func testPagesOfAttempts(f *fixture) {
	id := f.enqueue("k", jobs.MaxAttempts(1000))
	const runs = 2*inspect.KeptAttempts + 50
	f.drain(jobs.Config{}, onKind(again("k"), func(_ context.Context, j jobs.Job) error {
		switch {
		case j.Attempt == runs:
			return nil
		case j.Attempt == 1, j.Attempt%20 == 0:
			return errors.New("it is bad")
		}
		return jobs.Snooze(0)
	}))
	seen := map[int]int{}
	for before, pages := int64(0), 0; ; pages++ {
		page, err := inspect.New(f.client).Attempts(f.ctx, id, before, 3)
		f.must(err)
		for _, e := range page.Ends() {
			seen[e.Attempt]++
		}
		for _, r := range page.Unrecorded {
			for n := r.First; n <= r.Last; n++ {
				seen[n]++
			}
		}
		if before = page.Next; before == 0 {
			want(f, "pages before the last", pages, 4)
			break
		}
	}
	for n := 1; n < runs; n++ {
		want(f, fmt.Sprint("how often attempt ", n, " is listed"), seen[n], 1)
	}
	want(f, "attempts", len(seen), runs-1)
}
