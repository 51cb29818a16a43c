package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// withPages makes SQLite report a full disk when the database has n pages.
func withPages(n int64) Option { return func(o *options) { o.pages = n } }

// A full database is an error to the enqueuer; the runner continues when there is room again, and no job is lost or
// counted as failed.
func TestFull(t *testing.T) {
	store, client := queue(t, withPages(400))
	other := plain(t, store.path) // without the limit
	exec(t, other, "create_filler")
	exec(t, other, "fill", 800_000)

	log := &journal{}
	started, release := make(chan struct{}), make(chan struct{})
	stop := work(t, client, jobs.Config{Logger: slog.New(log)}, map[string]func(context.Context, jobs.Job) error{
		"big": func(_ context.Context, job jobs.Job) error {
			close(started)
			<-release
			return job.SetResult(strings.Repeat("x", 200_000)) // needs pages beyond the limit
		},
		"small": nothing,
	})
	big := enqueue(t, client, "big")
	receive(t, "the start", started)

	payload, err := json.Marshal(strings.Repeat("x", 20_000))
	must(t, err)
	var acknowledged []int64
	for err == nil {
		var receipt jobs.Receipt
		if receipt, err = client.Enqueue(t.Context(), "small", payload, jobs.In(1)); err == nil {
			acknowledged = append(acknowledged, receipt.ID)
		}
	}
	if !errors.Is(err, jobs.ErrFull) {
		t.Fatalf("the enqueuer gets %v", err)
	}
	if !store.CanRetry(err) {
		t.Error("a full disk is not worth another try")
	}
	close(release)
	eventually(t, "the runner meets the full disk", func() bool { return log.holds("cannot write to the database") })
	exec(t, other, "empty_filler")

	job := ended(t, client, big)
	if job.Status != jobs.StatusDone || job.Attempt != 1 || len(job.Result) != 200_002 {
		t.Errorf("the job is %s after attempt %d with a result of %d bytes", job.Status, job.Attempt, len(job.Result))
	}
	for _, id := range acknowledged {
		if job := ended(t, client, id); job.Status != jobs.StatusDone || job.Attempt != 1 {
			t.Errorf("job %d is %s after attempt %d", id, job.Status, job.Attempt)
		}
	}
	if errs, err := inspect.New(client).Errors(t.Context(), big); err != nil || len(errs) != 0 {
		t.Errorf("the job has the errors %v, %v", errs, err)
	}
	must(t, stop())
	if len(acknowledged) == 0 {
		t.Error("nothing was acknowledged before the disk was full")
	}
}

// A runner that is stopped while the disk is full stops within its limit. Unrecorded attempts run again without being counted.
func TestStopWhileFull(t *testing.T) {
	store, client := queue(t, withPages(400))
	other := plain(t, store.path)
	exec(t, other, "create_filler")
	exec(t, other, "fill", 800_000)
	log := &journal{}
	started, release := make(chan struct{}), make(chan struct{})
	config := jobs.Config{Logger: slog.New(log), Grace: 100 * time.Millisecond, StopTimeout: time.Second}
	stop := work(t, client, config, map[string]func(context.Context, jobs.Job) error{
		"big": func(_ context.Context, job jobs.Job) error {
			close(started)
			<-release
			return job.SetResult(strings.Repeat("x", 800_000)) // needs pages beyond the limit
		},
	})
	receipt, err := client.Enqueue(t.Context(), "big", json.RawMessage("1"), jobs.MaxAttempts(1))
	must(t, err)
	receive(t, "the start", started)
	close(release)
	eventually(t, "the runner meets the full disk", func() bool { return log.holds("cannot write to the database") })
	if err := stop(); !errors.Is(err, jobs.ErrFull) && (err == nil || !strings.Contains(err.Error(), "StopTimeout is over")) {
		t.Errorf("Run gives %v", err)
	}
	exec(t, other, "empty_filler")
	next := work(t, client, jobs.Config{}, map[string]func(context.Context, jobs.Job) error{"big": nothing})
	job := ended(t, client, receipt.ID)
	if job.Status != jobs.StatusDone || job.Attempt != 2 || job.Uncounted != 1 || job.Crashes != 0 {
		t.Errorf("the job is %s after attempt %d, of which %d do not count, with %d crashes", job.Status, job.Attempt, job.Uncounted, job.Crashes)
	}
	must(t, next())
}
