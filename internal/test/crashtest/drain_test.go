//go:build unix

package crashtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Twelve processes drain 5,000 jobs: each starts once, none is lost, and no caller meets a locked database.
func TestTwelveProcesses(t *testing.T) {
	for _, ahead := range []int{0, 800} {
		t.Run(fmt.Sprint(ahead, " ahead"), func(t *testing.T) { twelveProcesses(t, ahead) })
	}
}

func twelveProcesses(t *testing.T, ahead int) {
	const n = 5000
	path, client := sqliteQueue(t)
	enqueueMany(t, client, "quick", n)
	var workers []*process
	for i := range 12 {
		workers = append(workers, start(t, role{
			Do: "drain", DB: path, Name: fmt.Sprint("worker", i), Queues: map[string]int{"default": 10}, Ahead: ahead,
		}))
	}
	var events []event
	shares := make([]int, len(workers))
	for i, w := range workers {
		must(t, w.wait())
		own := w.events()
		shares[i] = len(every(own, "done"))
		events = append(events, own...)
		for _, bad := range []string{"SQLITE_BUSY", "locked", "level=ERROR", "level=WARN"} {
			if strings.Contains(w.stderr.String(), bad) {
				t.Errorf("worker %d met %s:\n%s", i, bad, w.stderr)
			}
		}
	}
	t.Logf("jobs done by each process: %v", shares)
	if started := checkStarts(t, events); started != n {
		t.Errorf("%d of %d jobs were started", started, n)
	}
	checkOnce(t, events, n)
	stats, err := inspect.New(client).Stats(t.Context())
	must(t, err)
	if stats.Jobs[jobs.StatusDone] != n {
		t.Errorf("the database says %v", stats.Jobs)
	}
}
