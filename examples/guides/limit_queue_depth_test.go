package guides_test

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/jobs"
)

// docs/limits.md
func Example_backlogOfAQueue() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()

	check(client.SetQueueLimit(ctx, "mail", jobs.LimitValues{Depth: 10000, OnFull: jobs.OnFullDrop}))

	limits, err := client.Limits(ctx)
	check(err)
	fmt.Printf("%d in the queue %q, then %s\n", limits[0].Depth, limits[0].Queue, limits[0].OnFull)
	// Output:
	// 10000 in the queue "mail", then drop
}
