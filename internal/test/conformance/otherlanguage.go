package conformance

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// OtherLanguage runs a program in another language, which runs the statements of an engine's testdata/other_language.sql, and checks
// their effects: each feature can be used by a plain INSERT.
func OtherLanguage(t *testing.T, client *jobs.Client, program string, arguments ...string) {
	t.Helper()
	ctx := t.Context()
	if output, err := exec.CommandContext(ctx, program, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	var mu sync.Mutex
	payloads := map[string]int{}
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"k", "late", "paused"} {
		jobs.Kind[json.RawMessage]{Name: kind}.Handle(runner, func(_ context.Context, job jobs.Job, payload json.RawMessage) error {
			mu.Lock()
			defer mu.Unlock()
			payloads[job.Kind+" "+string(payload)]++
			return nil
		})
	}
	if err := runner.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	if len(payloads) != 2 || payloads[`k {"n": 1}`] != 1 || payloads["k 1"] != 1 {
		t.Errorf("these jobs ran: %v", payloads)
	}
	in := inspect.New(client)
	wanted := map[string]inspect.Reason{"k": inspect.ReasonKept, "late": inspect.ReasonExpired, "paused": inspect.ReasonKindPaused}
	list, err := in.List(ctx, inspect.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range list {
		why, err := in.Why(ctx, job.ID)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(why.Findings, func(f inspect.Finding) bool { return f.Reason == wanted[job.Kind] }) {
			t.Errorf("job %d of kind %s is as it is because of %+v", job.ID, job.Kind, why.Findings)
		}
	}
	if len(list) != 4 {
		t.Errorf("there are %d jobs", len(list))
	}
	schedule, err := client.GetSchedule(ctx, "nightly")
	if err != nil || schedule.Kind != "k" {
		t.Errorf("the schedule is %+v, %v", schedule, err)
	}
	wantPlainScheduleFires(t, client)
	receipt, err := client.Enqueue(ctx, "report", json.RawMessage("{}"), jobs.UniqueFor("daily", time.Hour))
	if err != nil || !receipt.Existed {
		t.Errorf("a job whose key is taken: %+v, %v", receipt, err)
	}
}

// wantPlainScheduleFires runs a runner until the schedule of each second has had two jobs.
func wantPlainScheduleFires(t *testing.T, client *jobs.Client) {
	t.Helper()
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ticks := make(chan time.Time, 100)
	jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, func(_ context.Context, job jobs.Job, _ json.RawMessage) error {
		if job.Schedule() == "often" {
			ticks <- job.Tick()
		}
		return nil
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	for range 2 {
		select {
		case <-ticks:
		case err := <-ended:
			t.Fatalf("the runner has ended: %v", err)
		case <-time.After(hang):
			t.Fatal("the schedule of each second has no job")
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
