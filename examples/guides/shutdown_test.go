package guides_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// Video is the payload of a job that encodes a video.
type Video struct{ Frames int }

var Encode = jobs.Kind[Video]{Name: "encode"}

// work runs jobs until the process gets SIGTERM or SIGINT.
func work(client *jobs.Client, handler jobs.Handler[Video]) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	runner, err := jobs.NewRunner(client, jobs.Config{
		Grace:       20 * time.Second, // for handlers to go on
		StopTimeout: 5 * time.Second,  // then for the database
	})
	if err != nil {
		return err
	}
	Encode.Handle(runner, handler)
	return runner.Run(ctx) // returns when the worker has stopped
}

// serve answers requests and runs jobs until ctx ends. The requests under way end first, since they may enqueue, and the runner after them.
func serve(ctx context.Context, server *http.Server, runner *jobs.Runner, log *slog.Logger) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	worked := make(chan error, 1)
	go func() {
		err := runner.Run(work)
		if err != nil { // as a jobs.SchemaError, when a newer program has migrated the schema: requests are answered until the next deploy
			log.Error("the runner ended", "error", err)
		}
		worked <- err
	}()
	served := make(chan error, 1)
	go func() { served <- server.ListenAndServe() }()
	var err error
	select {
	case err = <-served: // the address is taken
	case <-ctx.Done():
		within, cancel := context.WithTimeout(work, 10*time.Second)
		defer cancel()
		err = server.Shutdown(within)
	}
	stop()
	return errors.Join(err, <-worked)
}

// encode stops between two frames.
func encode(ctx context.Context, job jobs.Job, args Video) error {
	for frame := range args.Frames {
		if ctx.Err() != nil {
			return context.Cause(ctx) // jobs.ErrStopping, ErrTimeout, ErrCancelRequested or ErrLeaseLost
		}
		encodeFrame(frame)
	}
	return nil
}

func encodeFrame(int) {}

func Example_shutdown() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()
	receipt, err := Encode.Enqueue(ctx, client, Video{Frames: 10})
	check(err)
	self, err := os.FindProcess(os.Getpid())
	check(err)
	err = work(client, func(ctx context.Context, job jobs.Job, args Video) error {
		defer func() { check(self.Signal(syscall.SIGTERM)) }()
		return encode(ctx, job, args)
	})
	check(err)
	job, err := client.Get(ctx, receipt.ID)
	check(err)
	fmt.Println(job.Status)

	stopping, cancel := context.WithCancelCause(ctx)
	cancel(jobs.ErrStopping)
	fmt.Println(errors.Is(encode(stopping, jobs.Job{}, Video{Frames: 1}), jobs.ErrStopping))
	// Output:
	// done
	// true
}

func Example_shutdownOfAService() {
	ctx, stop := context.WithCancel(context.Background())
	_, client, done := openShop(ctx)
	defer done()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: log})
	check(err)
	encoded := make(chan struct{})
	Encode.Handle(runner, func(context.Context, jobs.Job, Video) error {
		close(encoded)
		return nil
	})
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, &http.Server{Addr: "127.0.0.1:0"}, runner, log) }()
	_, err = Encode.Enqueue(ctx, client, Video{Frames: 1})
	check(err)
	<-encoded
	stop()
	fmt.Println(<-ended)
	// Output: <nil>
}
