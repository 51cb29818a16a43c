package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// waitLook is how often Wait looks without having been woken: for commits that no signal tells of.
const waitLook = time.Second

// Wait returns the job once it has ended: done, failed or cancelled. It is woken by the commit that ends the job, in
// whatever process that happens. The error is ctx's when that ends first (the job is then as it was last seen), or
// [ErrNotFound] when the job does not exist or was deleted.
func (c *Client) Wait(ctx context.Context, id int64) (Job, error) {
	job, err := c.Get(ctx, id)
	if err != nil {
		return job, fmt.Errorf("wait for job %d: %w", id, err)
	}
	if job.Status.Final() {
		return job, nil // without the cost of listening
	}
	wake, stop := c.store.Listen(JobEnded, nil)
	defer stop()
	tick := time.NewTicker(waitLook)
	defer tick.Stop()
	for {
		seen, err := c.Get(ctx, id)
		if err == nil {
			job = seen
		} else if ctx.Err() == nil && !errors.Is(err, ErrUnavailable) { // a server that is away comes back
			return job, fmt.Errorf("wait for job %d: %w", id, err)
		}
		if job.Status.Final() {
			return job, nil
		}
		select {
		case <-ctx.Done():
			return job, fmt.Errorf("wait for job %d: %w", id, context.Cause(ctx))
		case <-wake:
		case <-tick.C:
		}
	}
}
