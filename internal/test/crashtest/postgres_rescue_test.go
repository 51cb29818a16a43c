//go:build unix

package crashtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Eight workers start at once beside jobs whose worker is gone. One of them rescues each job: it has one row for the
// crash, counts it once and runs once more.
func TestPostgresManyRescuers(t *testing.T) {
	testdb.TakesLong(t)
	address, client := postgresQueue(t, testdb.StartPostgres(t))
	ids := enqueueMany(t, client, "quick", 2000)
	store := client.Store()
	must(t, engine.StoreOf(store).Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		now, lease := engine.StoreOf(store).Now().UnixMicro(), engine.StoreOf(store).Now().Add(time.Hour).UnixMicro()
		worker, err := q.RegisterWorker(ctx, db.RegisterWorkerParams{
			Name: "gone", Queues: "{}", Kinds: "[]", Now: now, LeaseUntil: lease,
		})
		if err != nil {
			return err
		}
		rows, err := q.ClaimJobs(ctx, db.ClaimJobsParams{
			WorkerID: worker, LeaseUntil: lease, Now: now, Kinds: `["quick"]`, Queue: jobs.DefaultQueue, N: int64(len(ids)),
		})
		if err == nil && len(rows) != len(ids) {
			err = fmt.Errorf("%d of %d jobs were claimed", len(rows), len(ids))
		}
		if err != nil {
			return err
		}
		_, err = q.EndWorker(ctx, db.EndWorkerParams{Now: now, EndReason: "crash", ID: worker})
		return err
	}))
	var workers []*process
	for i := range 8 {
		workers = append(workers, start(t, role{
			Do: "drain", DB: address, Name: fmt.Sprint("worker", i), Queues: map[string]int{"default": 10},
		}))
	}
	var events []event
	for _, w := range workers {
		must(t, w.wait())
		events = append(events, w.events()...)
	}
	if started := checkStarts(t, events); started != len(ids) {
		t.Errorf("%d of %d jobs were started", started, len(ids))
	}
	for _, job := range allJobs(t, client) {
		errs, err := inspect.New(client).Errors(t.Context(), job.ID)
		must(t, err)
		if job.Status != jobs.StatusDone || job.Attempt-job.Uncounted != 2 || job.Crashes != 1 || len(errs) != 1 {
			t.Fatalf("job %d is %s with attempt %d, %d crashes and the errors %v", job.ID, job.Status, job.Attempt, job.Crashes, errs)
		}
	}
}
