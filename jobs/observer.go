package jobs

import "github.com/sqluice/sqluice/jobs/jobtype"

// Observer holds functions that are called for a process's events in a queue, for example for metrics. Pass it to an
// engine by the option WithObserver; the clients and runners of that store call it too. Use middleware to change or
// refuse something.
type Observer = jobtype.Observer

// The events of an [Observer].
type (
	Enqueued = jobtype.Enqueued
	Started  = jobtype.Started
	Finished = jobtype.Finished
	Rescued  = jobtype.Rescued
	Expired  = jobtype.Expired
	Turned   = jobtype.Turned
)

// Observers returns an observer that calls each one of a list, in its order; nil for none. It omits nil ones. Its own
// functions never block.
func Observers(list ...*Observer) *Observer { return jobtype.Observers(list...) }

// Fate is the result of an attempt for its job.
type Fate = jobtype.Fate

const (
	FateDone      = jobtype.FateDone
	FateRetry     = jobtype.FateRetry     // failed, with attempts left
	FateFailed    = jobtype.FateFailed    // for good
	FateCancelled = jobtype.FateCancelled // its handler or a request cancelled the job
	FateSnoozed   = jobtype.FateSnoozed   // put off; the attempt does not count
	FateReleased  = jobtype.FateReleased  // released unfinished by a stopping runner; the attempt does not count
	FateUnable    = jobtype.FateUnable    // put off, because its worker could not run it; the attempt does not count
	FateLost      = jobtype.FateLost      // the lease was lost: another worker has the job, or it is deleted
)

// Fates returns all fates.
func Fates() []Fate { return jobtype.Fates() }

// WakeSource says why a process looks for work.
type WakeSource = jobtype.WakeSource

const (
	WakeLocal  = jobtype.WakeLocal  // a commit of the same process
	WakeEvent  = jobtype.WakeEvent  // SQLite: the system reported a write to the database's files
	WakeNotify = jobtype.WakeNotify // PostgreSQL: a notification
	WakePoll   = jobtype.WakePoll   // frequent polling, where there are no events
	WakeSafety = jobtype.WakeSafety // the safety look each second, without an event
	WakeStart  = jobtype.WakeStart  // the watch or the listening started, perhaps again
	WakeTimer  = jobtype.WakeTimer  // a scheduled job falls due, or it is time to look again
)

// WakeSources returns all sources.
func WakeSources() []WakeSource { return jobtype.WakeSources() }

// tellEnqueued tells the store's observer, if any, of one enqueue: of a job that was added or existed, or of many that were added.
func (c *Client) tellEnqueued(e *enqueue, receipts ...Receipt) {
	o := c.store.Observer()
	if o == nil || o.Enqueued == nil {
		return
	}
	event := Enqueued{Kind: e.kind, Queue: e.queue, Jobs: len(receipts), InTx: c.scope().Tx != nil}
	for _, receipt := range receipts {
		if receipt.Dropped {
			event.Jobs--
		}
	}
	if len(receipts) == 1 && receipts[0].Existed {
		event.Jobs, event.Existed = 0, true
	}
	o.Enqueued(event)
}
