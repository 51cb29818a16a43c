package guides_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// docs/limits.md
func Example_limitsOfAKindAndAQueue() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()

	check(client.SetTotalLimit(ctx, "charge", jobs.LimitValues{Running: 50}))                    // all jobs of the kind together
	check(client.SetQueueLimit(ctx, "mail", jobs.LimitValues{Rate: jobs.Per(100, time.Second)})) // all jobs of the queue together

	limits, err := client.Limits(ctx)
	check(err)
	for _, limit := range limits {
		fmt.Printf("kind %q, queue %q, total %v: %d at once, %d in %s\n", limit.Kind, limit.Queue, limit.Total, limit.Running, limit.Rate.Starts, limit.Rate.Period)
	}
	// Output:
	// kind "", queue "mail", total false: 0 at once, 100 in 1s
	// kind "charge", queue "", total true: 50 at once, 0 in 0s
}
