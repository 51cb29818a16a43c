//go:build unix

package crashtest

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// The server goes away for a while and comes back, without the locks and connections of all workers. A worker that
// starts then, before the others are back, does not take them for dead: every worker keeps its jobs.
func TestPostgresRestartKeepsWorkers(t *testing.T) {
	testdb.TakesLong(t)
	// The leases end while the server is away.
	t.Run("ShortLease", func(t *testing.T) {
		restartBesideWorkers(t, 3*time.Second, func([]*process) func() { return func() {} })
	})
	// One is back only after the new worker has checked the locks.
	t.Run("LateWorker", func(t *testing.T) {
		restartBesideWorkers(t, 30*time.Second, func(workers []*process) func() {
			workers[0].stop()
			return func() { workers[0].signal(syscall.SIGCONT) }
		})
	})
}

// restartBesideWorkers calls delay before the server starts again, and the function that it returned when a new worker
// has started.
func restartBesideWorkers(t *testing.T, lease time.Duration, delay func([]*process) func()) {
	const n, each = 4, 5
	cluster := testdb.StartCluster(t, nil)
	address, client := postgresQueue(t, cluster.Postgres)
	ids := enqueueMany(t, client, "block", n*each)
	var workers []*process
	for i := range n {
		workers = append(workers, start(t, role{
			Do: "worker", DB: address, Name: fmt.Sprint("worker", i), Queues: map[string]int{"default": each}, Lease: lease.String(),
		}))
		workers[i].started(each, 1)
	}
	before := workerIDs(t, client)

	cluster.Stop(t, "fast")
	// By then the pauses between their tries to connect have grown, and differ.
	for _, w := range workers {
		eventually(t, "the worker misses its server", func() bool {
			return strings.Count(w.stderr.String(), "housekeeping failed") > 1
		})
	}
	resume := delay(workers)
	early := start(t, role{Do: "worker", DB: address, Name: "early", Queues: map[string]int{"default": each}})
	early.said("the database is not ready")
	cluster.Start(t)
	restarted := time.Now()
	early.said("worker started") // so it has checked the locks
	resume()
	eventually(t, "all workers have renewed their leases twice", func() bool {
		list, err := inspect.New(client).Workers(t.Context())
		must(t, err)
		return len(list) >= n && !slices.ContainsFunc(list, func(w inspect.WorkerInfo) bool {
			return w.Name != "early" && w.Heartbeat.Before(restarted.Add(lease/3))
		})
	})
	if after := workerIDs(t, client); !slices.Equal(before, after) {
		t.Errorf("the workers were %v and are %v", before, after)
	}
	for _, id := range ids {
		job, err := client.Get(t.Context(), id)
		must(t, err)
		errs, err := inspect.New(client).Errors(t.Context(), id)
		must(t, err)
		if len(errs) > 0 || job.Status != jobs.StatusRunning || job.Attempt != 1 {
			t.Fatalf("job %d is %s with attempt %d and the errors %v", id, job.Status, job.Attempt, errs)
		}
	}
	early.release()
	events := early.events()
	for _, w := range workers {
		w.release()
		events = append(events, w.events()...)
	}
	checkDone(t, client)
	checkOnce(t, events, len(ids))
}

// workerIDs returns the rows of the live workers except the early one.
func workerIDs(t *testing.T, client *jobs.Client) []int64 {
	t.Helper()
	list, err := inspect.New(client).Workers(t.Context())
	must(t, err)
	var ids []int64
	for _, w := range list {
		if w.Name != "early" {
			ids = append(ids, w.ID)
		}
	}
	return ids
}
