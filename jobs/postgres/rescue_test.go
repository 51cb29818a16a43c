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

// A rescue pauses between the first and the second of two jobs that it has found. Meanwhile another worker starts, rescues the second one
// and runs it: the first rescue, which knows neither that worker nor its attempt, does not change that job.
func TestARescueBesideALiveWorker(t *testing.T) {
	t.Parallel()
	store, client, url := newSite(t, SharedServer.Postgres(t)).queue(t)
	holder := dial(t, url)
	exec(t, holder, "stall_rescue")
	run(t, holder, "lock", 42)
	ids := []int64{enqueue(t, client, "k"), enqueue(t, client, "k")}
	dieWith(t, store, len(ids))

	_, stalls := open(t, with(url, "application_name=stalls"))
	rescued := make(chan error, 1)
	go func() { rescued <- inspect.New(stalls).RescueGone(t.Context(), slog.New(slog.DiscardHandler)) }()
	admin := dial(t, url)
	eventually(t, "the rescue has stopped at the first job", func() bool { return scan[bool](t, admin, "is_stalled") })

	started, release := make(chan int64, len(ids)), make(chan struct{})
	work(t, client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, handlers{"k": func(_ context.Context, job jobs.Job) error {
		started <- job.ID
		<-release
		return nil
	}})
	second := receive(t, "the job that the other worker rescued", started)
	must(t, holder.Close(t.Context())) // lets the rescue continue
	must(t, receive(t, "the rescue's end", rescued))
	first := receive(t, "the job that the rescue gave back", started)
	if first == second {
		t.Fatalf("job %d was started twice", first)
	}
	if job := get(t, client, second); job.Status != jobs.StatusRunning || job.Attempt != 2 || job.Crashes != 1 {
		t.Errorf("the live worker's job is %s with attempt %d and %d crashes", job.Status, job.Attempt, job.Crashes)
	}
	close(release)
	for _, id := range ids {
		wantDone(t, client, id, 2)
		errs, err := inspect.New(client).Errors(t.Context(), id)
		must(t, err)
		want(t, "errors of a job", len(errs), 1)
	}
}

// dieWith makes a worker claim n jobs of the kind k and declares it dead.
func dieWith(t *testing.T, store *backend, n int) {
	t.Helper()
	must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		now, lease := store.Now().UnixMicro(), store.Now().Add(time.Hour).UnixMicro()
		worker, err := q.RegisterWorker(ctx, db.RegisterWorkerParams{Name: "gone", Queues: "{}", Kinds: "[]", Now: now, LeaseUntil: lease})
		if err != nil {
			return err
		}
		rows, err := q.ClaimJobs(ctx, db.ClaimJobsParams{
			WorkerID: worker, LeaseUntil: lease, Now: now, Kinds: `["k"]`, Queue: jobs.DefaultQueue, N: int64(n),
		})
		if err != nil {
			return err
		}
		want(t, "jobs that were claimed", len(rows), n)
		_, err = q.EndWorker(ctx, db.EndWorkerParams{Now: now, EndReason: "crash", ID: worker})
		return err
	}))
}
