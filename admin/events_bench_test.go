package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// BenchmarkDrainBesideStreams drains a queue in the process that serves event streams. To compare the two cases, run it
// repeatedly: with -count all runs of one case precede those of the other, and the machine's load may change.
func BenchmarkDrainBesideStreams(b *testing.B) {
	for _, clients := range []int{0, 200} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			client := jobs.New(testdb.SQLite(b))
			h, err := admin.New(client, admin.Config{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			server := httptest.NewServer(h)
			defer server.Close()
			defer h.Close()
			var reading sync.WaitGroup
			defer reading.Wait()
			ctx, leave := context.WithCancel(b.Context())
			defer leave()
			for range clients {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+base+"/events", nil)
				if err != nil {
					b.Fatal(err)
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				reading.Go(func() {
					defer answer.Body.Close()
					_, _ = io.Copy(io.Discard, answer.Body) // until the end of the benchmark breaks it off
				})
			}
			const jobsOfOne = 20_000
			for b.Loop() {
				b.StopTimer()
				if _, err := client.EnqueueMany(b.Context(), "k", slices.Repeat([]json.RawMessage{[]byte("{}")}, jobsOfOne)); err != nil {
					b.Fatal(err)
				}
				runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					b.Fatal(err)
				}
				jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error { return nil })
				b.StartTimer()
				if err := runner.Drain(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(jobsOfOne*b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}
