package guides_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/jobs"
)

// docs/limits.md
func Example_limitOrdered() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()

	type Change struct {
		Customer string
		N        int
	}
	var Sync = jobs.Kind[Change]{Name: "sync", Limit: jobs.Limit[Change]{
		Key:     func(c Change) string { return c.Customer },
		Ordered: true, // one at a time for each customer, in the order in which the jobs were added
	}}

	runner := newRunner(client)
	Sync.Handle(runner, func(_ context.Context, job jobs.Job, c Change) error {
		if c.N == 2 && job.Attempt == 1 {
			return jobs.Discard(errors.New("the customer's database is gone"))
		}
		fmt.Println("change", c.N)
		return nil
	})
	_, err := Sync.EnqueueMany(ctx, client, []Change{{"acme", 1}, {"acme", 2}, {"acme", 3}})
	check(err)
	check(runner.Drain(ctx))

	resumed, err := client.ResumeSequence(ctx, "sync", "acme")
	check(err)
	fmt.Println("resumed:", resumed)
	runner = newRunner(client)
	Sync.Handle(runner, func(_ context.Context, _ jobs.Job, c Change) error {
		fmt.Println("change", c.N)
		return nil
	})
	check(runner.Drain(ctx))
	// Output:
	// change 1
	// resumed: true
	// change 3
}
