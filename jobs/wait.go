package jobs

import (
	"context"
	"errors"
	"fmt"
)

// Wait returns the job once it has ended: done, failed or cancelled. The commit that ends the job wakes it, in whatever
// process that happens. The error is ctx's when that ends first (the job is then as it was last seen), or [ErrNotFound] when
// the job does not exist or was deleted.
//
// Thousands of calls may wait at once: the store looks for all of them together. It then looks less often, so that Wait may
// return a few tenths of a second after the end.
func (c *Client) Wait(ctx context.Context, id int64) (Job, error) {
	job, err := c.Get(ctx, id)
	if err != nil {
		return job, fmt.Errorf("wait for job %d: %w", id, err)
	}
	if job.Status.Final() {
		return job, nil // without the cost of listening
	}
	wake, leave := c.store.Shared().waits.join(c.store, id)
	defer leave()
	for {
		select {
		case <-ctx.Done():
			return job, fmt.Errorf("wait for job %d: %w", id, context.Cause(ctx))
		case <-wake:
		}
		seen, err := c.Get(ctx, id)
		if err == nil {
			job = seen
		} else if ctx.Err() == nil && !errors.Is(err, ErrUnavailable) { // a server that is away comes back
			return job, fmt.Errorf("wait for job %d: %w", id, err)
		}
		if job.Status.Final() {
			return job, nil
		}
	}
}
