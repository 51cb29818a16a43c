package telemetry_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
	"github.com/sqluice/sqluice/telemetry"
)

type Greeting struct{ Name string }

// The trace of a request continues in the job that it enqueued.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "example")
	check(err)
	defer func() { check(os.RemoveAll(folder)) }()

	provider := sdktrace.NewTracerProvider() // with an exporter, in a program
	t, err := telemetry.New(telemetry.Config{TracerProvider: provider})
	check(err)
	store, err := sqlite.Open(ctx, filepath.Join(folder, "jobs.db"), sqlite.WithObserver(t.Observer()))
	check(err)
	defer store.Close()
	client := jobs.New(store, jobs.WithMiddleware(t.Enqueue))
	_, err = client.Migrate(ctx)
	check(err)

	greet := jobs.Kind[Greeting]{Name: "greet"}
	request, span := provider.Tracer("example").Start(ctx, "request")
	_, err = greet.Enqueue(request, client, Greeting{Name: "Ada"})
	check(err)
	span.End()

	runner, err := jobs.NewRunner(client, jobs.Config{
		Middleware: []jobs.RunMiddleware{t.Run},
	})
	check(err)
	greet.Handle(runner, func(ctx context.Context, _ jobs.Job, args Greeting) error {
		same := trace.SpanContextFromContext(ctx).TraceID() == span.SpanContext().TraceID()
		fmt.Println("Hello,", args.Name, "- in the trace of the request:", same)
		return nil
	})
	check(runner.Drain(ctx))
	// Output: Hello, Ada - in the trace of the request: true
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
