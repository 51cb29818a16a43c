// Package outage is what the loops of a runner do while the database is away: which errors they wait out (Passing), which
// end them (Unusable), how long they pause (Backoff, Sleep), and what they log (Outage).
//
// It knows no job and no engine.
package outage
