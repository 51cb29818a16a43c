//go:build unix

package crashtest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Four and twelve processes drain 5,000 jobs while other processes add them: each is started once, and none is lost.
func TestPostgresProcesses(t *testing.T) {
	testdb.TakesLong(t)
	for _, n := range []int{4, 12} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			address, client := postgresQueue(t, testdb.StartPostgres(t))
			drainWhileAdding(t, address, client, n, 5000)
		})
	}
}

// A transaction that has read the queue stays open while jobs are added and removed, so that no row version that it may
// see can be removed. The jobs are still done, each once, and the transaction still sees the queue as it was.
func TestPostgresOldSnapshot(t *testing.T) {
	address, client := postgresQueue(t, testdb.StartPostgres(t))
	enqueueMany(t, client, "block", 3, jobs.Queue("before"))
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	defer func() { must(t, conn.Close(t.Context())) }()
	tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(t, err)
	count := func() (jobs int) {
		must(t, tx.QueryRow(t.Context(), statement(t, "count_jobs")).Scan(&jobs))
		return jobs
	}
	before := count()
	drainWhileAdding(t, address, client, 4, 2000)
	if after := count(); before != 3 || after != 3 {
		t.Errorf("the old transaction saw %d jobs at first and %d at the end", before, after)
	}
	must(t, tx.Commit(t.Context()))
}

// drainWhileAdding lets processes work on the queue named default while two others add jobs to it, and checks that each
// job started once.
func drainWhileAdding(t *testing.T, address string, client *jobs.Client, processes, n int) {
	t.Helper()
	var workers, enqueuers []*process
	for i := range processes {
		workers = append(workers, start(t, role{
			Do: "worker", DB: address, Name: fmt.Sprint("worker", i), Queues: map[string]int{"default": 10}, Ahead: i % 2 * 800,
		}))
	}
	for i := range 2 {
		enqueuers = append(enqueuers, start(t, role{Do: "enqueue", DB: address, Name: fmt.Sprint("enqueuer", i), Jobs: n / 2}))
	}
	for _, p := range enqueuers {
		must(t, p.wait())
	}
	sum := checkEnqueues(t, client, enqueuers)
	if len(sum.added) < n || sum.refused > 0 || sum.unknown > 0 {
		t.Errorf("%d jobs were acknowledged, %d calls failed, and %d have an unknown outcome", len(sum.added), sum.refused, sum.unknown)
	}
	eventually(t, "all jobs are done", func() bool { return unfinished(t, client, "default") == 0 })
	var events []event
	shares := make([]int, len(workers))
	for i, w := range workers {
		w.release()
		own := w.events()
		shares[i] = len(every(own, "done"))
		events = append(events, own...)
		for _, bad := range []string{"level=ERROR", "level=WARN"} {
			if strings.Contains(w.stderr.String(), bad) {
				t.Errorf("worker %d met %s:\n%s", i, bad, w.stderr)
			}
		}
	}
	t.Logf("jobs done by each process: %v", shares)
	if started := checkStarts(t, events); started != len(sum.added) {
		t.Errorf("%d of %d jobs were started", started, len(sum.added))
	}
	checkOnce(t, events, len(sum.added))
}

// unfinished counts the jobs of a queue that have not ended.
func unfinished(t *testing.T, client *jobs.Client, queue string) int64 {
	t.Helper()
	queues, err := inspect.New(client).Queues(t.Context())
	must(t, err)
	for _, q := range queues {
		if q.Name == queue {
			return q.Scheduled + q.Pending + q.Running
		}
	}
	return 0
}

// statement returns a statement of tests only.
func statement(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".sql")
	must(t, err)
	return strings.TrimSpace(string(text))
}
