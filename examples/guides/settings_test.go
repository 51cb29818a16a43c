package guides_test

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/jobs"
)

func Example_settings() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()
	image := Image{File: "a.jpg"}

	var Resize = jobs.Kind[Image]{Name: "resize", MaxAttempts: 5}

	Resize.Enqueue(ctx, client, image)                      // 5 attempts
	Resize.Enqueue(ctx, client, image, jobs.MaxAttempts(2)) // 2 attempts

	runner := newRunner(client)
	Resize.Handle(runner, func(_ context.Context, job jobs.Job, _ Image) error {
		fmt.Println(job.MaxAttempts, "set by the", job.MaxAttemptsFrom)
		return nil
	})
	check(runner.Drain(ctx))
	// Unordered output:
	// 5 set by the kind
	// 2 set by the job
}
