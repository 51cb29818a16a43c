// Package jobs is a durable job queue in the database that a service already has.
//
// A [Kind] names a type of job and the Go type of its payload. A [Client] enqueues and inspects jobs, also inside the
// caller's own transaction. A [Runner] claims and runs them, with retries, timeouts and a graceful stop; any number of
// runners, in any number of processes, share one database.
//
// The promises: an acknowledged enqueue is never lost; each attempt has one holder, and every later write of that
// holder is fenced ([ErrLeaseLost]); a job runs at least once, and exactly once when its handler commits its own work
// and the job's end in one transaction ([CompleteTx]); a worker that dies is noticed in about a second.
//
// The package names no engine: open a [Store] with jobs/sqlite.
package jobs
