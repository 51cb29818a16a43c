package jobs_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// Only the newest payload matters: while the job waits, each enqueue replaces its payload.
func ExampleUniqueReplace() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()

	for _, width := range []int{80, 120, 200} {
		receipt, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", width}, jobs.UniqueReplace("cat.jpg"))
		check(err)
		fmt.Println(receipt.Existed, receipt.Replaced)
	}
	job, err := client.GetByUniqueKey(ctx, Thumbnail.Name, "cat.jpg")
	check(err)
	fmt.Println(string(job.Payload))
	// Output:
	// false false
	// true true
	// true true
	// {"Image":"cat.jpg","Width":200}
}

// A run must see every change: enqueues during a run cause one more run, which begins when this one has ended.
func ExampleUniqueAgain() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()
	enqueue := func(width int) jobs.Receipt {
		receipt, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", width}, jobs.UniqueAgain("cat.jpg"))
		check(err)
		return receipt
	}

	enqueue(80)
	drain(ctx, client, func(_ context.Context, _ jobs.Job, args Resize) error {
		fmt.Println("make", args.Width)
		if args.Width == 80 { // two changes come while it runs
			added, replaced := enqueue(120), enqueue(200)
			fmt.Println(added.Existed, replaced.Replaced)
		}
		return nil
	})
	// Output:
	// make 80
	// false true
	// make 200
}

// The newest enqueue wins: it asks the running job to end.
func ExampleUniqueReplaceRunning() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()

	_, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", 80}, jobs.UniqueReplaceRunning("cat.jpg"))
	check(err)
	drain(ctx, client, func(running context.Context, _ jobs.Job, args Resize) error {
		fmt.Println("make", args.Width)
		if args.Width == 200 {
			return nil
		}
		receipt, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", 200}, jobs.UniqueReplaceRunning("cat.jpg"))
		check(err)
		fmt.Println("a job was added:", !receipt.Existed)
		<-running.Done()
		return context.Cause(running)
	})
	// Output:
	// make 80
	// a job was added: true
	// make 200
}

// At most one job an hour, also after that one has ended and its row is gone.
func ExampleUniqueFor() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()

	for range 2 {
		receipt, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", 80}, jobs.UniqueFor("cat.jpg", time.Hour))
		check(err)
		fmt.Println(receipt.Existed)
		drain(ctx, client, func(context.Context, jobs.Job, Resize) error { return nil })
	}
	// Output:
	// false
	// true
}

// The live job with a key, and the job of a request.
func ExampleClient_GetByUniqueKey() {
	ctx := context.Background()
	client, done := newClient(ctx)
	defer done()
	_, err := Thumbnail.Enqueue(ctx, client, Resize{"cat.jpg", 80}, jobs.Unique("cat.jpg"), jobs.RequestID("r-1"))
	check(err)

	job, err := client.GetByUniqueKey(ctx, "thumbnail", "cat.jpg")
	check(err)
	fmt.Println(job.ID, job.Status)
	job, err = client.GetByRequestID(ctx, "thumbnail", "r-1")
	check(err)
	fmt.Println(job.ID, job.Status)
	// Output:
	// 1 pending
	// 1 pending
}
