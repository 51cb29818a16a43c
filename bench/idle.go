package main

import (
	"context"
	"time"
)

// restBeforeIdle is the rest of a worker before its idle time counts. Each queue works more just after its start.
const restBeforeIdle = 5 * time.Second

// idle measures the processor time of a worker process without jobs, and of its server.
func idle(ctx context.Context, r running) (figures, error) {
	t := r.profiled(r.task(roleIdle))
	t.Jobs, t.Concurrency, t.For = 0, 10, r.idle
	f, _, err := r.together(ctx, []task{t})
	return f, err
}
