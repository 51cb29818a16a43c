package admin_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// load keeps a runner of the process busy until the end of the test, and returns the number of jobs that it has run.
func load(t *testing.T, client *jobs.Client) *atomic.Int64 {
	t.Helper()
	const busy = jobs.DefaultQueue
	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{busy: 8}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	must(t, err)
	done := &atomic.Int64{}
	kind := jobs.Kind[int]{Name: "busy", Queue: busy}
	kind.Handle(runner, func(context.Context, jobs.Job, int) error {
		done.Add(1)
		return nil
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ran, added := make(chan error, 1), make(chan error, 1)
	go func() { ran <- runner.Run(ctx) }()
	go func() {
		for n := int64(0); ctx.Err() == nil; n += 50 {
			if _, err := kind.EnqueueMany(context.WithoutCancel(ctx), client, make([]int, 50)); err != nil {
				added <- err
				return
			}
			for n-done.Load() > 500 && ctx.Err() == nil { // the queue is never empty, nor does it grow for ever
				if _, err := inspect.New(client).Stats(context.WithoutCancel(ctx)); err != nil {
					added <- err
					return
				}
			}
		}
		added <- nil
	}()
	t.Cleanup(func() {
		stop()
		for what, ended := range map[string]chan error{"the runner": ran, "the enqueues": added} {
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
	return done
}

// TestGuardUnderLoad checks that the rules hold while the same process drains a queue, and the drain continues meanwhile.
func TestGuardUnderLoad(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		_, err := client.Enqueue(t.Context(), "alone", json.RawMessage("{}"), jobs.Queue("alone")) // job 1, which routes are asked about
		must(t, err)
		done := load(t, client)
		eventually(t, "jobs run", func() bool { return done.Load() > 0 })
		for _, check := range []func(*testing.T, *jobs.Client){needCredentials, refuseOtherSites} {
			before := done.Load()
			check(t, client)
			eventually(t, "jobs run on", func() bool { return done.Load() > before })
		}
	})
}
