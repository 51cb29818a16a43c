// Package prune removes what has been kept long enough: jobs that ended (Retention for runners, which remembers what
// it has seen, and Jobs for people) and the steps of the history (History). It works in transactions of a few hundred rows, so that
// other writers get their turn.
//
// Runners call it every so often; jobs/inspect calls it for people. It does not decide when to run.
package prune
