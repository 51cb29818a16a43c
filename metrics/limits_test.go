package metrics_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func TestMetricsOfLimits(t *testing.T) {
	l := newLab(t)
	for _, kind := range []string{"k", "idle"} {
		l.must(l.client.SetLimit(l.ctx, kind, "", jobs.LimitValues{Running: 1}))
	}
	for _, key := range []string{"a", "a", "a", "b", "b", "closed"} {
		l.enqueue("k", jobs.LimitKey(key))
	}
	l.enqueue("free")
	runner, err := jobs.NewRunner(l.client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	l.must(err)
	release := make(chan struct{})
	for _, kind := range []string{"k", "free"} {
		jobs.Kind[json.RawMessage]{Name: kind}.Handle(runner, func(_ context.Context, job jobs.Job, _ json.RawMessage) error {
			if job.LimitKey != nil && *job.LimitKey == "closed" {
				return jobs.Throttle(time.Hour)
			}
			<-release
			return nil
		})
	}
	ctx, stop := context.WithCancel(l.ctx)
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	for in := inspect.New(l.client); ; time.Sleep(5 * time.Millisecond) {
		page, err := in.LimitKeys(l.ctx, inspect.LimitKeyFilter{Kind: "k"})
		l.must(err)
		stats, err := in.Stats(l.ctx)
		l.must(err)
		if len(page.Keys) == 3 && page.Keys[2].Waiting == 1 && !page.Keys[2].ClosedUntil.IsZero() && stats.Jobs[jobs.StatusRunning] == 3 {
			break
		}
	}
	wants(l, "sqluice_limit_running_jobs", labels{"kind": "k"}, 2)
	wants(l, "sqluice_limit_waiting_jobs", labels{"kind": "k"}, 4)
	wants(l, "sqluice_limit_waiting_keys", labels{"kind": "k"}, 3)
	if seconds := l.value("sqluice_limit_oldest_waiting_seconds", labels{"kind": "k"}); seconds <= 0 {
		t.Errorf("the oldest job waits for %v s", seconds)
	}
	if metrics := l.gather()["sqluice_limit_running_jobs"].GetMetric(); len(metrics) != 1 || len(metrics[0].GetLabel()) != 1 {
		t.Errorf("the metrics are %v", metrics)
	}
	close(release)
	stop()
	l.must(<-ended)
}

func TestMetricsOfSequences(t *testing.T) {
	l := newLab(t)
	l.must(l.client.SetLimit(l.ctx, "k", "", jobs.LimitValues{Ordered: true}))
	for _, key := range []string{"held", "held", "free", "held later"} {
		l.enqueue("k", jobs.LimitKey(key))
	}
	runner, err := jobs.NewRunner(l.client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	l.must(err)
	jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, func(_ context.Context, job jobs.Job, _ json.RawMessage) error {
		if *job.LimitKey == "held" {
			return jobs.Discard(nil)
		}
		return nil
	})
	l.must(runner.Drain(l.ctx))
	wants(l, "sqluice_limit_held_keys", labels{"kind": "k"}, 1)
	wants(l, "sqluice_limit_waiting_keys", labels{"kind": "k"}, 1)
}
