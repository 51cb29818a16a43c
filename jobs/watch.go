package jobs

import "github.com/sqluice/sqluice/internal/queue/core"

// Watch returns a channel that gets a value after jobs or queues have changed, in whatever process that happens: jobs were
// added, ended or removed, or may be claimed. Several changes may give one value, and some values are false alarms. That a
// worker has claimed a job, or was handed one as it was added, is seen about a second later at the latest, and on PostgreSQL
// also that a job ended in another process. stop ends it.
func (c *Client) Watch() (changed <-chan struct{}, stop func()) {
	return c.store.Listen(core.WorkReady|core.JobEnded|core.ChangesOnly, nil)
}
