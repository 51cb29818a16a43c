package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// Resize is the payload of a job.
type Resize struct {
	Image string
	Width int
}

var Thumbnail = jobs.Kind[Resize]{Name: "thumbnail", MaxAttempts: 3, Timeout: time.Minute}

// newClient returns a client of an empty queue, and a function that removes it.
func newClient(ctx context.Context) (*jobs.Client, func()) {
	folder, err := os.MkdirTemp("", "")
	check(err)
	store, err := sqlite.Open(ctx, filepath.Join(folder, "jobs.db"))
	check(err)
	client := jobs.New(store)
	_, err = client.Migrate(ctx)
	check(err)
	return client, func() {
		check(store.Close())
		check(os.RemoveAll(folder))
	}
}

// drain runs all jobs that are due.
func drain(ctx context.Context, client *jobs.Client, handler jobs.Handler[Resize]) {
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	check(err)
	Thumbnail.Handle(runner, handler)
	check(runner.Drain(ctx))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Options override the kind's own settings.
func ExampleKind_Enqueue() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()

	receipt, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", 80}, jobs.Priority(9), jobs.In(time.Hour), jobs.Tags("pets"))
	check(err)
	job, err := client.Get(ctx, receipt.ID)
	check(err)
	fmt.Println(job.Kind, job.Status, job.Priority, job.Tags)
	// Output: thumbnail scheduled 9 [pets]
}

// Many jobs are added together, or none of them.
func ExampleKind_EnqueueMany() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()

	receipts, err := Thumbnail.EnqueueMany(ctx, client, []Resize{{"cat.jpg", 80}, {"dog.jpg", 80}})
	check(err)
	fmt.Println(len(receipts), "jobs")
	// Output: 2 jobs
}

// A handler decides what its error means: the job waits for its time, ends, or is tried again.
func ExampleKind_Handle() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()
	receipt, err := Thumbnail.Enqueue(ctx, client, Resize{"missing.jpg", 80})
	check(err)

	drain(ctx, client, func(ctx context.Context, job jobs.Job, args Resize) error {
		if args.Width > 10_000 {
			return jobs.Snooze(time.Hour) // not now; it costs no attempt
		}
		if _, err := os.Stat(args.Image); errors.Is(err, os.ErrNotExist) {
			return jobs.Discard(err) // no other attempt can help
		}
		return nil
	})

	job, err := client.Get(ctx, receipt.ID)
	check(err)
	fmt.Println(job.Status, "after", job.Attempt, "attempt:", job.LastError)
	// Output: failed after 1 attempt: stat missing.jpg: no such file or directory
}

// A handler sets a result for callers that wait for the job.
func ExampleClient_Wait() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()
	receipt, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", 80})
	check(err)

	drained := make(chan struct{})
	go func() {
		defer close(drained)
		drain(ctx, client, func(ctx context.Context, job jobs.Job, args Resize) error {
			return job.SetResult(map[string]int{"bytes": 4711})
		})
	}()
	defer func() { <-drained }()

	minute, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	job, err := client.Wait(minute, receipt.ID)
	check(err)
	fmt.Println(job.Status, string(job.Result))
	// Output: done {"bytes":4711}
}

// The function's changes by its client are committed together, or not at all. A program that has a transaction uses With.
func ExampleClient_Tx() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()

	no := errors.New("the second image is missing")
	err := client.Tx(ctx, func(ctx context.Context, tx *jobs.Client) error {
		if _, err := Thumbnail.Enqueue(ctx, tx, Resize{"cat.jpg", 80}); err != nil {
			return err
		}
		return no
	})
	fmt.Println(err)
	drain(ctx, client, func(ctx context.Context, job jobs.Job, args Resize) error {
		fmt.Println("this job was never added")
		return nil
	})
	// Output: the second image is missing
}

// A job that has not begun is cancelled at once; the context of a running one ends with ErrCancelRequested as its cause.
func ExampleClient_Cancel() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()
	receipt, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", 80}, jobs.In(time.Hour))
	check(err)

	status, err := client.Cancel(ctx, receipt.ID)
	check(err)
	fmt.Println(status)
	// Output: cancelled
}

// A schedule enqueues a job at each of its ticks, by any live worker.
func ExampleClient_PutSchedule() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()

	nightly := Thumbnail.Cron("nightly", "0 2 * * *", Resize{"cat.jpg", 80}, jobs.Zone("Europe/Berlin"), jobs.OverlapSkip, jobs.Priority(5))
	check(client.PutSchedule(ctx, nightly))
	schedule, err := client.GetSchedule(ctx, "nightly")
	check(err)
	fmt.Println(schedule.State(), schedule.Spec, schedule.Zone)

	id, err := client.RunSchedule(ctx, "nightly") // a job at once, beside those of its ticks
	check(err)
	job, err := client.Get(ctx, id)
	check(err)
	fmt.Println(job.Kind, job.Priority, job.Schedule())
	// Output:
	// active 0 2 * * * Europe/Berlin
	// thumbnail 5 nightly
}

// Jobs of several kinds and options are added together, or none of them.
func ExampleClient_EnqueueItems() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()

	receipts, err := client.EnqueueItems(ctx, []jobs.Item{
		Thumbnail.Item(Resize{"cat.jpg", 80}, jobs.Unique("cat")),
		Thumbnail.Item(Resize{"cat.jpg", 80}, jobs.Unique("cat")),
		jobs.NewItem("mail", []byte(`{"to": "cat@example.com"}`), jobs.In(time.Hour)),
	})
	check(err)
	for _, receipt := range receipts {
		fmt.Println(receipt.Existed)
	}
	// Output:
	// false
	// true
	// false
}

// A job that has not started can be changed.
func ExampleClient_Update() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()
	receipt, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", 80}, jobs.In(time.Hour))
	check(err)

	check(client.Update(ctx, receipt.ID, jobs.SetPriority(9), jobs.SetPayload(Resize{"cat.jpg", 200})))
	job, err := client.Get(ctx, receipt.ID)
	check(err)
	fmt.Println(job.Priority, string(job.Payload))
	// Output: 9 {"Image":"cat.jpg","Width":200}
}

// A burst of enqueues becomes one job, with the newest payload.
func ExampleDebounce() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()

	burst := jobs.Debounce("cat.jpg", 5*time.Second, jobs.AtMost(time.Minute))
	var receipt jobs.Receipt
	for _, width := range []int{80, 120, 200} {
		var err error
		receipt, err = Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", width}, burst)
		check(err)
		fmt.Println(receipt.Existed, receipt.Replaced)
	}
	job, err := client.Get(ctx, receipt.ID)
	check(err)
	fmt.Println(string(job.Payload))
	// Output:
	// false false
	// true true
	// true true
	// {"Image":"cat.jpg","Width":200}
}

// A service that jobs of one kind need is down: they wait until it is back, or for an hour, and other jobs of their queue continue.
func ExampleClient_PauseKind() {
	ctx := jobs.WithActor(context.Background(), "ann") // for the audit log, and for people who see the pause
	client, done := newClient(ctx)
	defer done()

	changed, err := client.PauseKind(ctx, jobs.DefaultQueue, Thumbnail.Name, jobs.PauseFor(time.Hour))
	check(err)
	fmt.Println("paused:", changed)
	changed, err = client.ResumeKind(ctx, jobs.DefaultQueue, Thumbnail.Name)
	check(err)
	fmt.Println("resumed:", changed)
	// Output:
	// paused: true
	// resumed: true
}

// A queue for each tenant: the runner learns of a new one while it runs.
func ExampleRunner_SetQueue() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()
	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{"tenant-1": 4}, Logger: slog.New(slog.DiscardHandler)})
	check(err)
	Thumbnail.Handle(runner, func(context.Context, jobs.Job, Resize) error { return nil })
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error)
	go func() { stopped <- runner.Run(running) }()

	receipt, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", 80}, jobs.Queue("tenant-7"))
	check(err)
	check(runner.SetQueue("tenant-7", 4))
	job, err := client.Wait(ctx, receipt.ID)
	check(err)
	fmt.Println(job.Queue, job.Status)

	check(runner.SetQueue("tenant-7", 0)) // it claims no more of them
	stop()
	check(<-stopped)
	// Output: tenant-7 done
}

// A job is useless when it is late: if no worker has started it in time, it ends as cancelled, and its handler is not called.
func ExampleStartWithin() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()
	receipt, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", 80}, jobs.In(time.Hour), jobs.StartWithin(10*time.Minute))
	check(err)

	job, err := client.Get(ctx, receipt.ID)
	check(err)
	fmt.Println(job.StartBy.Sub(job.RunAfter))
	// Output: 10m0s
}
