package guides_test

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/jobs"
)

// docs/limits.md
func Example_declaredTotals() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	_, client, done := openShop(ctx)
	defer done()

	type Page struct{ Printer string }
	var Print = jobs.Kind[Page]{Name: "print", Limit: jobs.Limit[Page]{
		Key: func(p Page) string { return p.Printer }, Running: 1, // one page of a printer at a time
		Total: jobs.LimitValues{Running: 20}, // and at most twenty of all printers
	}}

	runner, err := jobs.NewRunner(client, jobs.Config{
		Queues:      map[string]int{"paper": 40},
		QueueLimits: map[string]jobs.LimitValues{"paper": {Running: 30}}, // of all workers of the queue
	})
	check(err)
	Print.Handle(runner, func(context.Context, jobs.Job, Page) error {
		stop()
		return nil
	})
	_, err = Print.Enqueue(ctx, client, Page{"hall"}, jobs.Queue("paper"))
	check(err)
	check(runner.Run(ctx))

	limits, err := client.Limits(context.Background())
	check(err)
	for _, limit := range limits {
		fmt.Printf("kind %q, queue %q, total %v: %d at once\n", limit.Kind, limit.Queue, limit.Total, limit.Running)
	}
	// Output:
	// kind "print", queue "", total false: 1 at once
	// kind "", queue "paper", total false: 30 at once
	// kind "print", queue "", total true: 20 at once
}
