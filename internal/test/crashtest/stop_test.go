//go:build unix

package crashtest

import (
	"syscall"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A process is stopped for longer than its lease, and another takes its job over. When it continues it finds the lease
// lost, and its finish is refused. (On PostgreSQL a stopped process keeps its lock as well: only its lease tells.)
func TestStoppedPastTheLease(t *testing.T) { onEachEngine(t, stopPastTheLease) }

func stopPastTheLease(t *testing.T, address string, client *jobs.Client) {
	id := enqueueMany(t, client, "block", 1)[0]
	queues := map[string]int{"default": 1}
	stopped := start(t, role{Do: "worker", DB: address, Name: "stopped", Queues: queues, Lease: "1s"})
	stopped.started(1, 1)
	taker := start(t, role{Do: "worker", DB: address, Name: "taker", Queues: queues, Lease: "3s"})
	taker.said("worker started")
	betweenWrites(t, address, stopped.stop)
	taker.started(1, 2)
	stopped.signal(syscall.SIGCONT)

	// Its handler sees the lost lease and reports the job as done, which is refused.
	eventually(t, "the stopped process sees the lost lease", func() bool { return len(only(stopped.events(), "lost", 1)) == 1 })
	stopped.said("the attempt's end was refused")
	job, err := client.Get(t.Context(), id)
	must(t, err)
	if job.Status != jobs.StatusRunning || job.Attempt != 2 {
		t.Errorf("the job is %s with attempt %d while the taker runs it", job.Status, job.Attempt)
	}
	taker.release()
	job = ended(t, client, id)
	if job.Status != jobs.StatusDone || job.Attempt != 2 || string(job.Result) != `"taker"` {
		t.Errorf("the job is %s with attempt %d and the result %s", job.Status, job.Attempt, job.Result)
	}
	errs, err := inspect.New(client).Errors(t.Context(), id)
	must(t, err)
	if len(errs) != 1 || errs[0].Cause != jobs.CauseLost || errs[0].Worker != "stopped" {
		t.Errorf("the job has the errors %+v", errs)
	}
	// It has registered as a new worker and continues.
	again := enqueueMany(t, client, "block", 1)[0]
	eventually(t, "the stopped process works again", func() bool { return len(stopped.events()) == 3 })
	stopped.release()
	if job := ended(t, client, again); string(job.Result) != `"stopped"` {
		t.Errorf("the next job has the result %s", job.Result)
	}
	checkStarts(t, append(stopped.events(), taker.events()...))
}
