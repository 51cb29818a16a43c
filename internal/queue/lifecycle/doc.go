// Package lifecycle changes what state a job is in, at a caller's request: retry, cancel, delete. Each is a function over a
// db.Querier that runs in the caller's transaction, checks the job's status, and adds what it did to the stats.Changes that
// the caller writes before the commit.
//
// Change runs such functions for a client, and refuses when the queue is closed by a move (CheckOpen). The package keeps no
// state and starts no goroutine. It knows no runner.
package lifecycle
