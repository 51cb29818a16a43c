// Package jobtype holds the types that package jobs shares with its engines and with package jobs/inspect: errors,
// statuses, causes and what an observer is told. Package jobs has all of them under the same names; programs use those.
//
// The package imports nothing of this module but the queue that calls observers.
package jobtype
