package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// demo makes a queue like that of a service: with jobs in every status, a paused queue and two busy workers.
func demo(t *testing.T) *jobs.Client {
	t.Helper()
	store := testdb.SQLite(t)
	client := jobs.New(store)
	add := func(kind, payload string, n int, opts ...jobs.EnqueueOption) {
		for i := range n {
			_, err := client.Enqueue(t.Context(), kind, fmt.Appendf(nil, payload, i+1), opts...)
			must(t, err)
		}
	}
	quiet := slog.New(slog.DiscardHandler)
	past, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{"default": 8, "media": 8, "mail": 8}, Logger: quiet})
	must(t, err)
	fine := func(_ context.Context, j jobs.Job, _ json.RawMessage) error {
		return j.SetResult(map[string]any{"bytes": 48213 + j.ID*977})
	}
	fails := func(text string) jobs.Handler[json.RawMessage] {
		return func(context.Context, jobs.Job, json.RawMessage) error { return errors.New(text) }
	}
	handle(past, "thumbnail", func(ctx context.Context, j jobs.Job, p json.RawMessage) error {
		if len(j.Tags) > 0 && j.Tags[0] == "corrupt" {
			return decodeImage(string(p))
		}
		return fine(ctx, j, p)
	})
	handle(past, "transcode", fails("ffmpeg: exit status 1: moov atom not found"))
	handle(past, "send_email", fine)
	handle(past, "sync_crm", fails("POST https://crm.example.com/v2/contacts: 503 Service Unavailable"))
	handle(past, "charge_invoice", fails("card_declined: insufficient funds"))
	add("thumbnail", `{"image": "uploads/2026/11/%d.png", "width": 640, "height": 480}`, 60, jobs.Queue("media"), jobs.Tags("upload"))
	add("send_email", `{"template": "welcome", "user": %d}`, 90, jobs.Queue("mail"))
	add("thumbnail", `{"image": "uploads/2026/11/c%d.png", "width": 640}`, 14, jobs.Queue("media"), jobs.MaxAttempts(3), jobs.Tags("corrupt"), jobs.UserID("ann@example.com"))
	add("transcode", `{"video": "clip-%d.mov", "preset": "720p"}`, 5, jobs.Queue("media"), jobs.MaxAttempts(2))
	add("sync_crm", `{"contact": %d}`, 37, jobs.MaxAttempts(1))
	add("charge_invoice", `{"invoice": "INV-20%d", "amount": 4900}`, 3, jobs.MaxAttempts(1))
	must(t, past.Drain(t.Context()))

	// Two workers that hold some jobs for as long as the test lasts.
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	t.Cleanup(func() {
		stop()
		for range 2 {
			must(t, <-ended)
		}
	})
	for i, queues := range []map[string]int{{"default": 10, "media": 4}, {"default": 10, "mail": 20}} {
		runner, err := jobs.NewRunner(client, jobs.Config{Queues: queues, Name: fmt.Sprintf("worker-%d", i+1), Version: "v2.14.0", Logger: quiet, Grace: -1})
		must(t, err)
		for _, kind := range []string{"thumbnail", "send_email", "sync_crm", "charge_invoice", "rebuild_search_index"} {
			handle(runner, kind, func(ctx context.Context, j jobs.Job, _ json.RawMessage) error {
				must(t, j.SetProgress(ctx, map[string]any{"done": 41, "of": 120}))
				<-ctx.Done()
				return ctx.Err()
			})
		}
		go func() { ended <- runner.Run(ctx) }()
	}
	add("rebuild_search_index", `{"shard": %d}`, 3, jobs.Timeout(1e12))
	add("thumbnail", `{"image": "uploads/2026/11/n%d.png", "width": 1280}`, 11, jobs.Queue("media"), jobs.Tags("upload"))
	waitFor(t, func() bool {
		list, err := inspect.New(client).List(t.Context(), inspect.Filter{Status: jobs.StatusRunning})
		must(t, err)
		return len(list) == 7
	})
	_, err = client.PauseQueue(jobs.WithActor(t.Context(), "ann"), "mail")
	must(t, err)
	add("send_email", `{"template": "digest", "user": %d}`, 24, jobs.Queue("mail"))
	add("nightly_report", `{"day": "2026-11-%d"}`, 4, jobs.In(7*3600*1e9))
	for id := range int64(3) {
		_, err = client.Cancel(jobs.WithActor(t.Context(), "bob"), lastID(t, client)-id)
		must(t, err)
	}
	execute(t, store, "demo.sql")
	execute(t, store, "demo_history.sql")
	return client
}

// demoSchedules adds schedules to the demo: one of them paused.
func demoSchedules(t *testing.T, client *jobs.Client) {
	t.Helper()
	for _, s := range []jobs.Schedule{
		jobs.NewSchedule("nightly-report", "30 2 * * *", "nightly_report", json.RawMessage(`{"day": "yesterday"}`), jobs.Zone("Europe/Berlin"), jobs.OverlapSkip),
		jobs.NewSchedule("sync-crm", "*/15 7-19 * * mon-fri", "sync_crm", json.RawMessage(`{"all": true}`), jobs.Zone("America/New_York")),
		jobs.NewSchedule("rebuild-index", "0 4 * * sun", "rebuild_search_index", json.RawMessage(`{"shard": 1}`)),
		jobs.NewSchedule("send-digests", "0 8 * * mon", "send_email", json.RawMessage(`{"template": "digest"}`), jobs.Zone("Asia/Tokyo"), jobs.Queue("mail")),
	} {
		must(t, client.PutSchedule(t.Context(), s))
	}
	_, err := client.PauseSchedule(jobs.WithActor(t.Context(), "bob"), "send-digests")
	must(t, err)
}

func lastID(t *testing.T, client *jobs.Client) int64 {
	t.Helper()
	list, err := inspect.New(client).List(t.Context(), inspect.Filter{Status: jobs.StatusScheduled, Limit: 1})
	must(t, err)
	return list[0].ID
}
