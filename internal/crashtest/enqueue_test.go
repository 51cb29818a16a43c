//go:build unix

package crashtest

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// Enqueuers are killed while they enqueue: every id that was acknowledged is there, and what was enqueued together is
// there together.
func TestKilledEnqueuers(t *testing.T) {
	path, client := queue(t)
	acknowledged := make(chan []int64)
	for i := range 4 {
		p := start(t, role{Do: "enqueue", DB: path})
		go func() {
			var ids []int64
			lines := bufio.NewScanner(p.stdout)
			for lines.Scan() {
				id, err := strconv.ParseInt(lines.Text(), 10, 64)
				if err != nil {
					break // half a line
				}
				if ids = append(ids, id); len(ids) == 300+100*i {
					_ = p.cmd.Process.Kill() // what it printed until then is still read
				}
			}
			_ = p.wait() // it says that the process was killed
			acknowledged <- ids
		}()
	}
	var ids []int64
	for range 4 {
		ids = append(ids, <-acknowledged...)
	}
	if len(ids) < 4*300 {
		t.Fatalf("only %d ids were acknowledged", len(ids))
	}
	for _, id := range ids {
		if _, err := client.Get(t.Context(), id); err != nil {
			t.Errorf("an acknowledged job is lost: %v", err)
		}
	}
	together := 0
	for after := int64(0); ; {
		page, err := client.List(t.Context(), jobs.Filter{Tag: "ten", After: after, Limit: jobs.MaxPage})
		must(t, err)
		if len(page) == 0 {
			break
		}
		together += len(page)
		after = page[len(page)-1].ID
	}
	if together%10 != 0 {
		t.Errorf("%d jobs were enqueued ten at a time", together)
	}
	checkIntegrity(t, path)
	w := start(t, role{Do: "drain", DB: path, Name: "w", Queues: map[string]int{"default": 50}})
	must(t, w.wait())
	for _, id := range ids {
		if job, err := client.Get(t.Context(), id); err != nil || job.Status != jobs.StatusDone {
			t.Errorf("job %d is %s, %v", id, job.Status, err)
		}
	}
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
	path, _ := queue(t)
	worker := start(t, role{Do: "worker", DB: path, Name: "idle", Queues: map[string]int{"default": 100}})
	worker.said("worker started")
	inserter := start(t, role{Do: "insert", DB: path})
	answers := bufio.NewScanner(inserter.stdout)
	const n = 30
	var latencies []time.Duration
	for i := range n {
		_, err := fmt.Fprintln(inserter.stdin)
		must(t, err)
		if !answers.Scan() {
			t.Fatalf("the inserter ended: %v\n%s", answers.Err(), inserter.stderr)
		}
		var id, us int64
		_, err = fmt.Sscan(answers.Text(), &id, &us)
		must(t, err)
		starts := worker.started(i+1, 1)
		if last := starts[len(starts)-1]; last.job == id {
			latencies = append(latencies, last.at.Sub(time.UnixMicro(us)))
		} else {
			t.Errorf("job %d was started after job %d was inserted", last.job, id)
		}
	}
	slices.Sort(latencies)
	t.Logf("from the INSERT's return to the handler's start: median %s, longest %s", latencies[n/2], latencies[n-1])
	worker.release()
}
