package jobs

import "github.com/sqluice/sqluice/jobs/jobtype"

// Observer is told what a process does with a queue, for metrics and the like. An engine gets it when it is opened, with
// its option WithObserver; the clients and runners of that store tell it too. Middleware is what changes or refuses
// something.
type Observer = jobtype.Observer

// What an [Observer] is told.
type (
	Enqueued = jobtype.Enqueued
	Started  = jobtype.Started
	Finished = jobtype.Finished
	Rescued  = jobtype.Rescued
	Expired  = jobtype.Expired
	Turned   = jobtype.Turned
)

// Observers returns an observer that tells each one of a list, in its order; nil for none. It leaves out those that are
// nil. Its own functions never block.
func Observers(list ...*Observer) *Observer { return jobtype.Observers(list...) }

// Fate is what becomes of a job after an attempt.
type Fate = jobtype.Fate

const (
	FateDone      = jobtype.FateDone
	FateRetry     = jobtype.FateRetry     // failed, with attempts left
	FateFailed    = jobtype.FateFailed    // for good
	FateCancelled = jobtype.FateCancelled // by its handler or by request
	FateSnoozed   = jobtype.FateSnoozed   // put off; the attempt does not count
	FateReleased  = jobtype.FateReleased  // given back unfinished by a stopping runner; the attempt does not count
	FateUnable    = jobtype.FateUnable    // put off, because its worker could not run it; the attempt does not count
	FateLost      = jobtype.FateLost      // the lease was lost: another worker has the job, or it is deleted
)

// Fates returns all fates.
func Fates() []Fate { return jobtype.Fates() }

// WakeSource is how a process found out that there may be something to do.
type WakeSource = jobtype.WakeSource

const (
	WakeLocal  = jobtype.WakeLocal  // a commit of the same process
	WakeEvent  = jobtype.WakeEvent  // SQLite: the system told of a write to the database's files
	WakeNotify = jobtype.WakeNotify // PostgreSQL: a notification
	WakePoll   = jobtype.WakePoll   // looking often, where nothing tells
	WakeSafety = jobtype.WakeSafety // the look each second at what nothing told of
	WakeStart  = jobtype.WakeStart  // the watch or the listening began, maybe anew
	WakeTimer  = jobtype.WakeTimer  // a scheduled job falls due, or it is time to look again
)

// WakeSources returns all sources.
func WakeSources() []WakeSource { return jobtype.WakeSources() }

// tellEnqueued takes an observer that may be nil.
func tellEnqueued(o *Observer, e *enqueue, jobs int, existed, inTx bool) {
	if o == nil || o.Enqueued == nil {
		return
	}
	o.Enqueued(Enqueued{Kind: e.kind, Queue: e.queue, Jobs: jobs, Existed: existed, InTx: inTx})
}
