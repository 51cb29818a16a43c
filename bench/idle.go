package main

import (
	"context"
	"time"
)

// settle is how long a worker is left alone before its idle time counts.
const settle = 2 * time.Second

// idle is the processor time of a worker process that has nothing to do, and of the server that it asks.
func idle(ctx context.Context, r running) (figures, error) {
	t := r.profiled(r.task(roleIdle))
	t.Jobs, t.Concurrency, t.For = 0, 10, r.idle
	f, _, err := r.together(ctx, []task{t})
	return f, err
}
