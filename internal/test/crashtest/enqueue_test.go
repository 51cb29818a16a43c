//go:build unix

package crashtest

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// Enqueuers are killed while they enqueue: every acknowledged id is there, and jobs that were enqueued together are
// there together.
func TestKilledEnqueuers(t *testing.T) {
	onEachEngine(t, func(t *testing.T, address string, client *jobs.Client) {
		var enqueuers []*process
		for i := range 4 {
			enqueuers = append(enqueuers, start(t, role{Do: "enqueue", DB: address, Name: fmt.Sprint("enqueuer", i)}))
		}
		for i, p := range enqueuers {
			eventually(t, "an enqueuer has work behind it", func() bool { return len(p.events()) >= 300+100*i })
			p.kill()
		}
		sum := checkEnqueues(t, client, enqueuers)
		if len(sum.added) < 4*300 || sum.refused > 0 || sum.unknown > 0 {
			t.Errorf("%d jobs were acknowledged, %d calls failed, and %d have an unknown outcome", len(sum.added), sum.refused, sum.unknown)
		}
		if !(role{DB: address}).onPostgres() {
			checkIntegrity(t, address)
		}
		w := start(t, role{Do: "drain", DB: address, Name: "w", Queues: map[string]int{"default": 50}})
		must(t, w.wait())
		checkDone(t, client)
	})
}

func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	statement, err := os.ReadFile("testdata/integrity_check.sql")
	must(t, err)
	pool, err := sql.Open("sqlite", "file:"+path)
	must(t, err)
	defer func() { must(t, pool.Close()) }()
	var result string
	must(t, pool.QueryRowContext(t.Context(), string(statement)).Scan(&result))
	if result != "ok" {
		t.Errorf("the database is damaged: %s", result)
	}
}

// Rows that another process inserts by plain SQL are picked up by an idle worker.
func TestPlainInsertWakes(t *testing.T) {
	path, _ := sqliteQueue(t)
	worker := start(t, role{Do: "worker", DB: path, Name: "idle", Queues: map[string]int{"default": 100}})
	worker.said("worker started")
	inserter := start(t, role{Do: "insert", DB: path})
	logLatencies(t, "from the INSERT's return", latencies(t, inserter, worker, 30, hang))
	worker.release()
}

// latencies adds a job n times, each time after the worker has started the one before, and returns the durations. It
// gives up when all together take longer than limit.
func latencies(t *testing.T, adder, worker *process, n int, limit time.Duration) []time.Duration {
	t.Helper()
	end := time.Now().Add(limit)
	answers := bufio.NewScanner(adder.stdout)
	var list []time.Duration
	for i := range n {
		_, err := fmt.Fprintln(adder.stdin)
		must(t, err)
		if !answers.Scan() {
			t.Fatalf("the process that adds jobs ended: %v\n%s", answers.Err(), adder.stderr)
		}
		var id, us int64
		_, err = fmt.Sscan(answers.Text(), &id, &us)
		must(t, err)
		var starts []event
		eventuallyBefore(t, end, fmt.Sprintf("the worker has started job %d, the %dth", id, i+1), func() bool {
			starts = only(worker.events(), "start", 1)
			return len(starts) > i
		})
		if last := starts[len(starts)-1]; last.job == id {
			list = append(list, last.at.Sub(time.UnixMicro(us)))
		} else {
			t.Errorf("job %d was started after job %d was added", last.job, id)
		}
	}
	return list
}

func logLatencies(t *testing.T, from string, list []time.Duration) {
	t.Helper()
	if len(list) == 0 {
		return
	}
	slices.Sort(list)
	t.Logf("%s to the handler's start: p50 %s, p99 %s, longest %s", from, list[len(list)/2], list[len(list)*99/100], list[len(list)-1])
}
