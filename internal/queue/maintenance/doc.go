// Package maintenance keeps a queue's database in order while runners work:
//
//	Rescuer  resets the jobs of workers that are gone
//	Pruner   removes what has been kept long enough: jobs that ended, rows of workers, the audit log, the history
//	Scheduler enqueues the jobs of schedules; it also ends pauses, and by Expiry jobs that were not started in time: one look finds what
//	         of these is due, so that a queue without them costs no statement more
//	Rollup   adds up what transactions note of jobs to counts and history
//
// The types with a Run method are services: a runner starts each on a separate goroutine, and Run returns when its context ends.
// The rescuer has no loop: a runner's heartbeat calls it, because both need the same look at the workers. Package jobs/inspect
// calls it too, without a runner.
//
// The package knows no attempt and no handler. A runner passes the durations that it holds in memory to Rollup.
package maintenance
