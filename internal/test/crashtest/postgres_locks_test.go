//go:build unix

package crashtest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A handler's transaction that has completed its job stays open for longer than the lease. Its row is locked, and no
// write waits for it: the worker keeps renewing its leases, and no other worker takes any of its jobs.
func TestPostgresOpenCompletion(t *testing.T) {
	testdb.TakesLong(t)
	address, client := postgresQueue(t, testdb.StartPostgres(t))
	const lease = 5 * time.Second
	held := enqueueMany(t, client, "complete", 1)[0]
	beside := enqueueMany(t, client, "block", 1)[0]
	queues := map[string]int{"default": 2}
	worker := start(t, role{Do: "worker", DB: address, Name: "worker", Queues: queues, Lease: lease.String()})
	eventually(t, "the job is completed, not committed", func() bool { return len(only(worker.events(), "complete", 1)) == 1 })
	other := start(t, role{Do: "worker", DB: address, Name: "other", Queues: queues, Lease: lease.String()})
	other.said("worker started")

	first := heartbeat(t, client, "worker")
	eventually(t, "the worker has renewed its lease for long", func() bool {
		return heartbeat(t, client, "worker").Sub(first) > 2*lease || len(other.events()) > 0
	})
	for _, id := range []int64{held, beside} {
		job, err := client.Get(t.Context(), id)
		must(t, err)
		if job.Status != jobs.StatusRunning || job.Attempt != 1 {
			t.Errorf("job %d is %s with attempt %d", id, job.Status, job.Attempt)
		}
	}
	if t.Failed() {
		return
	}
	worker.release()
	for _, id := range []int64{held, beside} {
		if job := ended(t, client, id); job.Status != jobs.StatusDone || job.Attempt != 1 || string(job.Result) != `"worker"` {
			t.Errorf("job %d is %s with attempt %d and the result %s", id, job.Status, job.Attempt, job.Result)
		}
	}
	other.release()
	if events := other.events(); len(events) > 0 {
		t.Errorf("the other worker met %v", events)
	}
}

// heartbeat returns the time of a worker's last renewal; the zero time when it is not among the live ones.
func heartbeat(t *testing.T, client *jobs.Client, name string) time.Time {
	t.Helper()
	workers, err := inspect.New(client).Workers(t.Context())
	must(t, err)
	for _, w := range workers {
		if w.Name == name {
			return w.Heartbeat
		}
	}
	return time.Time{}
}

// An application's transaction has locked waiting jobs: workers skip them and run the others, and these when it has
// ended.
func TestPostgresLockedJobs(t *testing.T) {
	address, client := postgresQueue(t, testdb.StartPostgres(t))
	locked := enqueueMany(t, client, "quick", 50, jobs.Priority(1))
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	defer func() { must(t, conn.Close(t.Context())) }()
	tx, err := conn.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), statement(t, "lock_jobs"), jobs.DefaultQueue)
	must(t, err)
	free := enqueueMany(t, client, "quick", 50)
	worker := start(t, role{Do: "worker", DB: address, Name: "worker", Queues: map[string]int{"default": 10}})
	for _, id := range free {
		if job := ended(t, client, id); job.Status != jobs.StatusDone {
			t.Errorf("job %d is %s", id, job.Status)
		}
	}
	for _, id := range locked {
		if job, err := client.Get(t.Context(), id); err != nil || job.Status != jobs.StatusPending {
			t.Errorf("the locked job %d is %s, %v", id, job.Status, err)
		}
	}
	must(t, tx.Rollback(t.Context()))
	for _, id := range locked {
		if job := ended(t, client, id); job.Status != jobs.StatusDone || job.Attempt != 1 {
			t.Errorf("job %d is %s with attempt %d", id, job.Status, job.Attempt)
		}
	}
	worker.release()
}

// A process is stopped for ever, or its machine is gone, in the middle of a transaction. The server ends the
// transaction after a while, and releases its locks.
func TestPostgresStoppedHalfway(t *testing.T) {
	testdb.TakesLong(t)
	address, client := postgresQueue(t, testdb.StartPostgres(t))
	id := enqueueMany(t, client, "quick", 1)[0]
	halfway := start(t, role{Do: "halfway", DB: address, Job: id})
	eventually(t, "the transaction has cancelled the job, not committed", func() bool {
		return len(only(halfway.events(), "halfway", 1)) == 1
	})
	halfway.stop()
	worker := start(t, role{Do: "worker", DB: address, Name: "worker", Queues: map[string]int{"default": 1}})
	if job := ended(t, client, id); job.Status != jobs.StatusDone {
		t.Errorf("the job is %s", job.Status)
	}
	worker.release()
}
