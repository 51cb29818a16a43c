package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Many workers ignore new events for a while after they looked in vain, and pause before they claim. A job that comes
// meanwhile still runs, and on one of them.
func TestACrowdMissesNoJob(t *testing.T) {
	const workers, each = 12, 60
	first, client := queue(t)
	ctx, cancel := contextOf(t)
	var mu sync.Mutex
	runs := map[int64]int{}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for i := range workers {
		store, _ := queueAt(t, first.path)
		runner, err := jobs.NewRunner(jobs.New(store), jobs.Config{
			Name: fmt.Sprint("worker ", i), Queues: map[string]int{jobs.DefaultQueue: 1}, Logger: slog.New(slog.DiscardHandler),
		})
		must(t, err)
		jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, func(_ context.Context, job jobs.Job, _ json.RawMessage) error {
			mu.Lock()
			defer mu.Unlock()
			runs[job.ID]++
			return nil
		})
		running.Go(func() {
			if err := runner.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "all workers are there", func() bool {
		list, err := inspect.New(client).Workers(ctx)
		return err == nil && len(list) == workers
	})
	for range each {
		// One after the other, so that all but one come too late each time.
		receipt, err := client.Enqueue(ctx, "k", json.RawMessage("{}"))
		must(t, err)
		job, err := client.Wait(ctx, receipt.ID)
		must(t, err)
		if job.Status != jobs.StatusDone || job.Attempt != 1 {
			t.Errorf("job %d is %s after %d attempts", job.ID, job.Status, job.Attempt)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for id, n := range runs {
		if n != 1 {
			t.Errorf("job %d was run %d times", id, n)
		}
	}
	if len(runs) != each {
		t.Errorf("%d jobs were run, not %d", len(runs), each)
	}
}
