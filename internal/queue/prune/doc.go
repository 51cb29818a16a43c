// Package prune removes rows that have been kept long enough: jobs that ended (JobPruner for runners, which remembers the jobs it
// has read, and Jobs for people) and the steps of the history (History). It works in transactions of a few hundred rows, so that
// other writers get their turn.
//
// Runners call it at intervals; jobs/inspect calls it for people. It does not decide when to run.
package prune
