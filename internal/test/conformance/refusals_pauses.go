package conformance

import (
	"encoding/json"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// A queue and a kind whose pause the application does not let end keep no other paused.
func testRefusedPauses(f *fixture, rules func(*fixture, string)) {
	var free, kept []int64
	for _, queue := range []string{"kept", "q"} {
		_, err := f.client.PauseQueue(f.ctx, queue, jobs.PauseFor(time.Second))
		f.must(err)
	}
	for _, kind := range []string{"kept", "k"} {
		_, err := f.client.PauseKind(f.ctx, "other", kind, jobs.PauseFor(time.Second))
		f.must(err)
	}
	free = append(free, f.enqueue("k", jobs.Queue("q")), f.enqueue("k", jobs.Queue("other")))
	kept = append(kept, f.enqueue("k", jobs.Queue("kept")), f.enqueue("kept", jobs.Queue("other")))
	late := f.enqueue("unserved", jobs.StartBy(f.store.Now().Add(2*time.Second)))
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("s", "@every 1s", "tick", json.RawMessage("{}"))))
	f.start(jobs.Config{Queues: map[string]int{"q": 1, "other": 1, "kept": 1}}, on("k", nothing), on("kept", nothing))
	for _, id := range free {
		want(f, "status of a job whose pause is over", f.ended(id).Status, jobs.StatusDone)
	}
	for _, id := range kept {
		want(f, "status of a job whose pause is kept", f.get(id).Status, jobs.StatusPending)
	}
	f.wantTicksOf("s", 4)
	want(f, "status of a job that was not started in time", f.ended(late).Status, jobs.StatusCancelled)
	drained := f.enqueue("drained")
	f.drain(jobs.Config{}, on("drained", nothing))
	want(f, "status of a job that a drain ran", f.get(drained).Status, jobs.StatusDone)
	rules(f, "application_rules_gone")
	for _, id := range kept {
		want(f, "status of a job whose pause the application lets end", f.ended(id).Status, jobs.StatusDone)
	}
}
