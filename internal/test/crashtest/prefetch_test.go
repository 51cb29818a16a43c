//go:build unix

package crashtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Workers that prefetch are killed again and again. A death costs a job an attempt, except the first one of a job whose claim was of more
// jobs than free slots. A job with one attempt starts once.
func TestDeathsOfWorkersThatPrefetch(t *testing.T) { onEachEngine(t, killPrefetching) }

func killPrefetching(t *testing.T, address string, client *jobs.Client) {
	const many, kills = 3000, 8
	ids := enqueueMany(t, client, "quick", many, jobs.MaxAttempts(1000))
	once := enqueueMany(t, client, "quick", many/10, jobs.MaxAttempts(1))
	var events []event
	for i := range kills + 1 {
		w := start(t, role{Do: "drain", DB: address, Name: fmt.Sprint("worker", i), Queues: map[string]int{"default": 10}})
		if i == kills {
			must(t, w.wait())
		} else {
			w.started(100, 1)
			w.kill()
		}
		events = append(events, w.events()...)
	}
	checkStarts(t, events)
	starts := map[int64]int{}
	for _, e := range every(events, "start") {
		starts[e.job]++
	}
	for _, id := range once {
		if starts[id] > 1 {
			t.Errorf("job %d has one attempt and started %d times", id, starts[id])
		}
	}
	deaths, excused := 0, 0
	for _, id := range ids {
		job, err := client.Get(t.Context(), id)
		must(t, err)
		errs, err := inspect.New(client).Errors(t.Context(), id)
		must(t, err)
		counts, first := 1, true // the attempt that ended well counts
		for _, e := range errs {
			if e.Cause != jobs.CauseCrash {
				continue
			}
			deaths++
			if first && strings.HasSuffix(e.Message, "the handler may not have started") {
				excused++
			} else {
				counts++
			}
			first = false
		}
		if job.Status != jobs.StatusDone || job.Counted() != counts {
			t.Errorf("job %d is %s, and %d attempts count, not %d: %+v", id, job.Status, job.Counted(), counts, errs)
		}
	}
	t.Logf("%d attempts ended in a crash, of which %d do not count", deaths, excused)
}
