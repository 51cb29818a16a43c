package conformance

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// RunMeddling tests that triggers of the application on inserts of jobs take effect when a job is handed over. The
// triggers are those of testdata/meddle_with_inserts.sql, which exec runs.
func RunMeddling(t *testing.T, open Open, exec func(ctx context.Context, store Store, text string) error) {
	text, err := os.ReadFile(filepath.Join("testdata", "meddle_with_inserts.sql"))
	if err != nil {
		t.Fatal(err)
	}
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
			f.must(exec(f.ctx, f.store, string(text)))
			h := f.handingOf([]string{"k", kind})
			for handed := false; !handed; {
				h.hand()
				receipt, tried, err := h.add(kind)
				f.must(err)
				handed = tried
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

// ranNever checks that the job is where the trigger put it, untouched. Then it removes the job: one that stays pending
// prevents handovers.
func ranNever(h *handing, id int64) {
	h.f.Helper()
	h.hand() // the slot is free
	job := h.f.get(id)
	if job.Status == jobs.StatusRunning || job.Status == jobs.StatusDone || job.Attempt != 0 || job.WorkerID != 0 || !job.LeaseUntil.IsZero() {
		h.f.Errorf("the job is %+v", job)
	}
	_, err := h.f.client.Cancel(h.f.ctx, id)
	h.f.must(err)
}
