// Package outage handles the time in which the database is away, for the loops of a runner: which errors they wait out
// (Passing), which end them (Unusable), how long they pause (Backoff, Sleep), and what they log (Outage).
//
// It knows no job and no engine.
package outage
