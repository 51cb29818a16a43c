package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// Middleware around enqueues gets the jobs to enqueue, and may change or refuse them; middleware around runs gets a handler's
// arguments and result.
func Example_middleware() {
	ctx := context.Background()
	store, closeStore := openStore(ctx)
	defer closeStore()

	errNoName := errors.New("a greeting needs a name")
	client := jobs.New(store, jobs.WithMiddleware(func(next jobs.EnqueueFunc) jobs.EnqueueFunc {
		return func(ctx context.Context, r *jobs.EnqueueRequest) error {
			for i := range r.Len() {
				if payload, err := r.Payload(i); err != nil || string(payload) == `{"Name":""}` {
					return errors.Join(errNoName, err)
				}
			}
			r.Set(jobs.Metadata(map[string]string{"from": "the example"}))
			return next(ctx, r)
		}
	}))
	_, err := Greet.Enqueue(ctx, client, Greeting{})
	fmt.Println("refused:", errors.Is(err, errNoName))
	_, err = Greet.Enqueue(ctx, client, Greeting{Name: "Ada"})
	check(err)

	runner, err := jobs.NewRunner(client, jobs.Config{Middleware: []jobs.RunMiddleware{func(next jobs.RunFunc) jobs.RunFunc {
		return func(ctx context.Context, job jobs.Job) error {
			fmt.Println(job.Kind, string(job.Metadata))
			err := next(ctx, job)
			fmt.Println("asks to be", jobs.FateOf(err))
			return err
		}
	}}})
	check(err)
	Greet.Handle(runner, func(ctx context.Context, job jobs.Job, args Greeting) error {
		fmt.Println("Hello,", args.Name)
		return nil
	})
	check(runner.Drain(ctx))
	// Output:
	// refused: true
	// greet {"from":"the example"}
	// Hello, Ada
	// asks to be done
}

// An observer gets a process's events, and changes nothing. Package metrics has one for Prometheus, package telemetry one
// for OpenTelemetry.
func Example_observer() {
	ctx := context.Background()
	store, closeStore := openStore(ctx, sqlite.WithObserver(&jobs.Observer{
		Enqueued: func(e jobs.Enqueued) { fmt.Println(e.Jobs, "of", e.Kind, "enqueued on", e.Queue) },
		Finished: func(f jobs.Finished) { fmt.Println("attempt", f.Attempt, "of", f.Kind, "is", f.Fate) },
	}))
	defer closeStore()

	client := jobs.New(store)
	_, err := Greet.Enqueue(ctx, client, Greeting{Name: "Ada"})
	check(err)
	runner, err := jobs.NewRunner(client, jobs.Config{})
	check(err)
	Greet.Handle(runner, func(context.Context, jobs.Job, Greeting) error { return jobs.Cancel(nil) })
	check(runner.Drain(ctx))
	// Output:
	// 1 of greet enqueued on default
	// attempt 1 of greet is cancelled
}

// openStore opens a fresh queue's store; the function it returns closes and removes it.
func openStore(ctx context.Context, opts ...sqlite.Option) (*sqlite.Store, func()) {
	store, err := sqlite.Open(ctx, tempFile(), opts...)
	check(err)
	_, err = port.StoreOf(store).Migrations().Migrate(ctx)
	check(err)
	return store, func() {
		check(store.Close())
		check(os.RemoveAll(filepath.Dir(store.Path())))
	}
}
