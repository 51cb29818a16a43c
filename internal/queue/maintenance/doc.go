// Package maintenance keeps a queue's database in order while runners work:
//
//	Rescuer  resets the jobs of workers that are gone
//	Pruner   removes what has been kept long enough: jobs that ended, rows of workers, the audit log, the history
//	Upkeep   looks once a second for the work of its duties: scheduler (fires schedules), pauseEnder, successorReleaser, Expirer (ends
//	         jobs that were not started in time) and laneMender. One statement serves all five, so that an idle queue costs no more
//	CommittedEnds
//	         makes lanes of limits ready when a caller's transaction has committed the end of an attempt
//	Rollup   adds up what transactions note of jobs to counts and history
//
// The types with a Run method are services: a runner starts each on a separate goroutine, and Run returns when its context ends.
// The rescuer has no loop: a runner's heartbeat calls it, because both need the same look at the workers. Package jobs/inspect
// calls it too, without a runner.
//
// The package knows no attempt and no handler. A runner passes the durations that it holds in memory to Rollup.
package maintenance
