package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// TestPollingInABubble: a store that polls works in a bubble of package synctest, by the bubble's clock: a job that is due in a minute
// runs when everything else waits. A store that watches its folder would hang there, because its watch waits in a system call.
func TestPollingInABubble(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		store, err := Open(t.Context(), path, WithPolling())
		if err != nil {
			t.Fatal(err)
		}
		client := jobs.New(store)
		if _, err := client.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		job, err := client.Enqueue(t.Context(), "k", []byte("{}"), jobs.In(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		runner, err := jobs.NewRunner(client, jobs.Config{})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ran := make(chan time.Duration, 1)
		jobs.Kind[struct{}]{Name: "k"}.Handle(runner, func(context.Context, jobs.Job, struct{}) error {
			ran <- time.Since(began)
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- runner.Run(ctx) }()
		if after := <-ran; after < 50*time.Second || after > 70*time.Second {
			t.Errorf("the job ran after %s of the bubble's time, want a minute", after)
		}
		if job, err := client.Wait(t.Context(), job.ID); err != nil || job.Status != jobs.StatusDone {
			t.Errorf("the job is %s, %v", job.Status, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
