package conformance

import (
	"context"
	"slices"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// RunMeddling tests that triggers of the application on inserts of jobs have their way when a job is handed to a runner as it is
// added. create makes those of testdata/meddle_with_inserts.sql.
func RunMeddling(t *testing.T, open Open, create func(*testing.T, Store)) {
	for kind, check := range map[string]func(h *handing, id int64){
		"held": ranNever, "late": ranNever, "routed": ranNever,
		"changed": func(h *handing, id int64) { want(h.f, "payload", string(ranOnce(h, id).Payload), `"changed"`) },
		"pended":  func(h *handing, id int64) { ranOnce(h, id) },
		"refused": func(h *handing, id int64) { ranOnce(h, id) },
		"ignored": func(h *handing, id int64) { ranOnce(h, id) },
		"undone":  func(h *handing, id int64) { ranOnce(h, id) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, open)
			create(t, f.store)
			h := &handing{f: f, ran: make(chan jobs.Job, 1000)}
			h.client, h.seen = f.observed()
			keep := func(_ context.Context, job jobs.Job) error {
				h.ran <- job
				return nil
			}
			h.runner = f.startOn(h.client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, on("k", keep), on(kind, keep))
			for handed := false; !handed; {
				h.hand()
				before := len(h.seen.asked())
				receipt, err := h.client.Enqueue(f.ctx, kind, []byte("{}"))
				f.must(err)
				handed = slices.Contains(h.seen.asked()[before:], "EnqueueClaimedJob")
				check(h, receipt.ID)
			}
			f.must(h.runner.stop())
			want(f, "other jobs that ran", len(h.ran), 0)
		})
	}
}

func ranOnce(h *handing, id int64) jobs.Job {
	h.f.Helper()
	job := receive(h.f, "the job", h.ran)
	want(h.f, "the job that runs", job.ID, id)
	want(h.f, "status", h.f.ended(id).Status, jobs.StatusDone)
	want(h.f, "attempt", job.Attempt, 1)
	return job
}

// ranNever wants the job to be where the trigger put it, untouched.
func ranNever(h *handing, id int64) {
	h.f.Helper()
	h.hand() // the slot is free
	job := h.f.get(id)
	if job.Status == jobs.StatusRunning || job.Status == jobs.StatusDone || job.Attempt != 0 || job.WorkerID != 0 || !job.LeaseUntil.IsZero() {
		h.f.Errorf("the job is %+v", job)
	}
}
