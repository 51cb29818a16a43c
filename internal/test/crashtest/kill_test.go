//go:build unix

package crashtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A worker is killed with 50 running jobs: a worker that runs beside it runs them again.
func TestKillPickedUpByAnother(t *testing.T) { testKill(t, false) }

// A worker is killed with 50 running jobs: the next start runs them again.
func TestKillPickedUpByARestart(t *testing.T) { testKill(t, true) }

func testKill(t *testing.T, restart bool) {
	onEachEngine(t, func(t *testing.T, address string, client *jobs.Client) { killOne(t, address, client, restart) })
}

func killOne(t *testing.T, address string, client *jobs.Client, restart bool) {
	const n = 50
	// A second live worker has jobs, and no other worker touches them.
	own := enqueueMany(t, client, "block", 5, jobs.Queue("other"))
	live := start(t, role{Do: "worker", DB: address, Name: "live", Queues: map[string]int{"other": 5}})
	live.started(len(own), 1)

	ids := enqueueMany(t, client, "block", n)
	doomed := start(t, role{Do: "worker", DB: address, Name: "doomed", Queues: map[string]int{"default": n}})
	doomed.started(n, 1)
	heir := role{Do: "worker", DB: address, Name: "heir", Queues: map[string]int{"default": n}}
	var next *process
	if !restart {
		next = start(t, heir)
		next.said("worker started")
	}
	killed := time.Now()
	doomed.kill()
	if restart {
		next = start(t, heir)
	}
	last := slices.MaxFunc(next.started(n, 2), func(a, b event) int { return a.at.Compare(b.at) })
	t.Logf("all %d jobs ran again %s after the kill", n, last.at.Sub(killed).Round(time.Millisecond))

	for _, id := range ids {
		job, err := client.Get(t.Context(), id)
		must(t, err)
		if job.Status != jobs.StatusRunning || job.Attempt != 2 || job.Crashes != 1 {
			t.Errorf("job %d is %s with attempt %d and %d crashes", id, job.Status, job.Attempt, job.Crashes)
		}
		wantCrash(t, client, id)
	}
	for _, id := range own {
		job, err := client.Get(t.Context(), id)
		must(t, err)
		if errs, err := inspect.New(client).Errors(t.Context(), id); err != nil || len(errs) > 0 || job.Status != jobs.StatusRunning || job.Attempt != 1 {
			t.Errorf("job %d of the live worker is %s with attempt %d and the errors %v, %v", id, job.Status, job.Attempt, errs, err)
		}
	}
	if t.Failed() {
		return // the code below waits for jobs that may not be in the expected state
	}
	next.release()
	live.release()
	for _, id := range append(ids, own...) {
		if job := ended(t, client, id); job.Status != jobs.StatusDone {
			t.Errorf("job %d is %s", id, job.Status)
		}
	}
	checkStarts(t, slices.Concat(doomed.events(), next.events(), live.events()))
}

func wantCrash(t *testing.T, client *jobs.Client, id int64) {
	t.Helper()
	errs, err := inspect.New(client).Errors(t.Context(), id)
	must(t, err)
	if len(errs) != 1 || errs[0].Cause != jobs.CauseCrash || errs[0].Attempt != 1 || errs[0].Worker != "doomed" {
		t.Errorf("job %d has the errors %+v", id, errs)
	}
}

// Workers are killed again and again while they drain: no attempt starts twice and no job is lost.
func TestKillAgainAndAgain(t *testing.T) { onEachEngine(t, killAgainAndAgain) }

func killAgainAndAgain(t *testing.T, address string, client *jobs.Client) {
	const n = 3000
	ids := enqueueMany(t, client, "quick", n, jobs.MaxAttempts(1000))
	workers := 0
	begin := func() *process {
		workers++
		return start(t, role{
			Do: "drain", DB: address, Name: fmt.Sprint("worker", workers), Queues: map[string]int{"default": 20},
			Ahead: workers % 2 * 800, // every other one
		})
	}
	var all []*process
	alive := []*process{begin(), begin(), begin()}
	for range 8 {
		victim := alive[0]
		eventually(t, "the victim works or all work is done", func() bool {
			if len(victim.events()) > 20 {
				return true
			}
			stats, err := inspect.New(client).Stats(t.Context())
			must(t, err)
			return stats.Jobs[jobs.StatusDone] == n
		})
		victim.kill()
		all = append(all, victim)
		alive = append(alive[1:], begin())
	}
	for _, w := range alive {
		must(t, w.wait())
	}
	var events []event
	for _, w := range append(all, alive...) {
		events = append(events, w.events()...)
	}
	if started := checkStarts(t, events); started != n {
		t.Errorf("%d of %d jobs were started", started, n)
	}
	crashed := 0
	for _, id := range ids {
		job, err := client.Get(t.Context(), id)
		must(t, err)
		if job.Status != jobs.StatusDone {
			t.Errorf("job %d is %s", id, job.Status)
		}
		crashed += job.Crashes
	}
	t.Logf("%d attempts ended in a crash", crashed)
}
