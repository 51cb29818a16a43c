package guides_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// docs/limits.md
func Example_tokens() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()

	check(client.SetLimit(ctx, "stripe", "", jobs.LimitValues{Rate: jobs.Per(100, time.Second), Burst: 20}))

	call := func(ctx context.Context) error {
		if err := client.Limit("stripe").Take(ctx, 1); err != nil { // blocks until a call is allowed, or ctx ends
			return err
		}
		fmt.Println("call the API")
		return nil
	}
	check(call(ctx))

	err := client.Limit("stripe").Take(ctx, 21)
	var invalid *jobs.InvalidError
	fmt.Println(errors.As(err, &invalid), invalid.Field, "must", invalid.Must)
	// Output:
	// call the API
	// true number of tokens must be at most 20, the burst of the limit of stripe
}
