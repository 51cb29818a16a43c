// Package prune removes what has been kept long enough: jobs that ended (Jobs) and the steps of the history (History). It
// works in transactions of a few hundred rows, so that other writers get their turn.
//
// Runners call it every so often; jobs/inspect calls it for people. It decides neither when to run nor how long to keep.
package prune
