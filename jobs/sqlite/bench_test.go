package sqlite

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// BenchmarkDrain is what one job costs from its claim to its end, in batches of 200. Its allocations and bytes are the
// same in each run.
func BenchmarkDrain(b *testing.B) {
	store, err := Open(b.Context(), filepath.Join(b.TempDir(), "jobs.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	client := jobs.New(store)
	if _, err := client.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	type args struct {
		N   int    `json:"n"`
		Pad string `json:"pad"`
	}
	kind := jobs.Kind[args]{Name: "noop"}
	payloads := make([]json.RawMessage, 0, 1000)
	for done := 0; done < b.N; done += len(payloads) {
		payloads = payloads[:0]
		for i := range min(1000, b.N-done) {
			payloads = append(payloads, json.RawMessage(`{"n":`+strconv.Itoa(done+i)+`,"pad":"0123456789012345678901234567890123456789012345678901234567890123456789"}`))
		}
		if _, err := client.EnqueueMany(b.Context(), "noop", payloads); err != nil {
			b.Fatal(err)
		}
	}
	runner, err := jobs.NewRunner(client, jobs.Config{
		Queues: map[string]int{jobs.DefaultQueue: 200}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		b.Fatal(err)
	}
	kind.Handle(runner, func(context.Context, jobs.Job, args) error { return nil })
	b.ReportAllocs()
	b.ResetTimer()
	if err := runner.Drain(b.Context()); err != nil {
		b.Fatal(err)
	}
}
