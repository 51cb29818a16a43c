package postgres

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var strayTests = []engineTest{
	{"StrayClaims", testStrayClaims},
	{"ClaimCutOff", testClaimCutOff},
}

// claimAs claims all pending jobs of a kind under a worker's id, without its knowledge.
func claimAs(t *testing.T, store *backend, worker int64, kind string) {
	t.Helper()
	must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		now := store.Now()
		rows, err := q.ClaimJobs(ctx, db.ClaimJobsParams{
			WorkerID: worker, LeaseUntil: now.Add(time.Hour).UnixMicro(), Now: now.UnixMicro(), Kinds: `["` + kind + `"]`,
			Queue: jobs.DefaultQueue, N: 10,
		})
		if err == nil && len(rows) == 0 {
			t.Error("nothing was claimed")
		}
		return err
	}))
}

// A claim that a runner does not know is released and costs no attempt; the jobs that the runner holds stay.
func testStrayClaims(t *testing.T, site *site) {
	store, client, _ := site.queue(t)
	started, release := make(chan struct{}), make(chan struct{})
	log := &journal{}
	work(t, client, jobs.Config{Logger: slog.New(log)}, handlers{"held": func(context.Context, jobs.Job) error {
		close(started)
		<-release
		return nil
	}})
	held := enqueue(t, client, "held", jobs.MaxAttempts(1))
	receive(t, "the start of the held job", started)
	stray := enqueue(t, client, "stray", jobs.MaxAttempts(1))
	for round := range 2 {
		claimAs(t, store, get(t, client, held).WorkerID, "stray")
		eventually(t, "the stray is given back", func() bool { return get(t, client, stray).Status == jobs.StatusPending })
		job := get(t, client, stray)
		want(t, "attempts of the stray", job.Attempt, round+1)
		want(t, "attempts of it that do not count", job.Uncounted, round+1)
		eventually(t, "that is logged", func() bool { return log.count("gave back jobs") == round+1 })
	}
	list, err := inspect.New(client).Errors(t.Context(), stray)
	must(t, err)
	want(t, "errors of the stray", len(list), 0)
	want(t, "status of the held job", get(t, client, held).Status, jobs.StatusRunning)
	close(release)
	wantDone(t, client, held, 1)
	drain(t, client, jobs.Config{}, handlers{"stray": nothing}) // it still has its one attempt
	wantDone(t, client, stray, 3)
}

// A claim whose commit was cut off, and whose outcome the server did not report in time, is such a stray.
func testClaimCutOff(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	p := newProxy(t, url)
	_, own := open(t, p.url(url), askingFor(50*time.Millisecond))
	log := &journal{}
	stop := work(t, own, jobs.Config{Logger: slog.New(log)}, handlers{"k": nothing, "first": nothing})
	wantDone(t, client, enqueue(t, client, "first"), 1)
	eventually(t, "the runner rests", func() bool { return scan[int](t, dial(t, url), "count_busy") == 0 })
	p.onCommit(func(number int) fate {
		if number == 1 {
			return cutAfter
		}
		return pass
	}, p.leave)
	id := enqueue(t, client, "k", jobs.MaxAttempts(1))
	eventually(t, "the runner does not know", func() bool { return log.count("whether the write was committed is not known") > 0 })
	want(t, "status of the job", get(t, client, id).Status, jobs.StatusRunning)
	p.comeBack()
	wantDone(t, client, id, 2)
	want(t, "attempts that do not count", get(t, client, id).Uncounted, 1)
	list, err := inspect.New(client).Errors(t.Context(), id)
	must(t, err)
	want(t, "errors of the job", len(list), 0)
	must(t, stop())
}
