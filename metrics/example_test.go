package metrics_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
	"github.com/sqluice/sqluice/metrics"
)

// A program serves metrics of its own work and of the queue. A program with its own registry registers both there instead:
// prometheus.MustRegister(m, metrics.NewQueue(client, log)).
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "example")
	check(err)
	defer func() { check(os.RemoveAll(folder)) }()

	m := metrics.New()
	observer := jobs.Observers(m.Observer()) // its Flush waits until all is counted
	store, err := sqlite.Open(ctx, filepath.Join(folder, "jobs.db"), sqlite.WithObserver(observer))
	check(err)
	defer func() { check(store.Close()) }()
	client := jobs.New(store)
	_, err = client.Migrate(ctx)
	check(err)
	handler, err := metrics.Handler(slog.Default(), m, metrics.NewQueue(client, slog.Default()))
	check(err)

	_, err = client.Enqueue(ctx, "greet", []byte(`{"Name": "Ada"}`))
	check(err)
	check(observer.Flush(ctx)) // observers hear of things a moment later
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "sqluice_enqueued_jobs_total") || strings.HasPrefix(line, `sqluice_jobs{status="pending"}`) {
			fmt.Print(line)
		}
	}
	// Output:
	// sqluice_enqueued_jobs_total{kind="greet",queue="default"} 1
	// sqluice_jobs{status="pending"} 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
