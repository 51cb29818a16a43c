// Package lifecycle changes the status of jobs. Each change is a function over a db.Querier that runs in the caller's
// transaction and adds the changes to the Transitions that the caller concludes before the commit:
//
//	Hide           prepares texts and results for Finish: removes what their kinds mark as sensitive, and encrypts the rest
//	Finish         the ends of attempts, of any number of jobs: done, retried, snoozed, failed, cancelled, released
//	Return, Snooze the ends of attempts whose handlers were not called
//	Retry, Cancel, Delete   what a caller asks for
//
// Conclude runs the reactions to the transitions: the counts (counts.go) and the release of successors (successors.go). A new reaction is
// a file and a line in transitions.go.
//
// Change runs such functions for a client, and refuses when the queue is closed by a move (CheckOpen). The package keeps no
// state and starts no goroutine. It knows no runner.
package lifecycle
