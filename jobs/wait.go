package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Wait returns the job once it has ended: done, failed or cancelled, in any process. The error is ctx's when that ends first (the job is
// then as it was when Wait began), or [ErrNotFound] when the job does not exist or was deleted, for example by its end when its kind
// keeps [Nothing]. A client of a transaction ([Client.With]) cannot wait, since no worker sees the job before the commit: it returns an
// [InvalidError].
//
// On SQLite, and on PostgreSQL for jobs that end in this process, the commit that ends the job wakes Wait. On PostgreSQL Wait finds the
// ends in other processes by polling: after 2 ms first, then less often, but every 100 ms.
//
// Thousands of calls may wait at once: the store polls for all of them together. It then polls less often, so that Wait may return a few
// tenths of a second after the end.
func (c *Client) Wait(ctx context.Context, id int64) (Job, error) {
	if c.scope().Tx != nil {
		return Job{}, fmt.Errorf("wait for job %d: %w", id, jobtype.NewInvalidError("client", "one of a transaction", "not wait: other processes see the job only after the commit"))
	}
	job, err := c.Get(ctx, id)
	if err != nil {
		return job, fmt.Errorf("wait for job %d: %w", id, err)
	}
	if job.Status.Final() {
		return job, nil // without the cost of listening
	}
	wake, leave := engine.SharedOf(c.given).Waits.Join(c.store, id)
	defer leave()
	for {
		select {
		case <-ctx.Done():
			return job, fmt.Errorf("wait for job %d: %w", id, core.EndOf(ctx))
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

// Watch returns a channel that gets a value after jobs or queues have changed, in any process: jobs were added, ended or
// removed, or may be claimed. Several changes may give one value, and some values are false alarms. A claim by a worker, or
// a new job handed to one, is reported about a second later at the latest, and on PostgreSQL also the end of a job in
// another process. stop ends it.
func (c *Client) Watch() (changed <-chan struct{}, stop func()) {
	return c.store.Listen(core.WorkReady|core.JobEnded|core.ChangesOnly, nil)
}
